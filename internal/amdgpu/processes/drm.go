// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package processes finds the processes that use AMD GPUs: by the DRM devices that they have open, and by what the compute driver
// (KFD) shows of them.
package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// DRM reads which processes have which GPU open. Only one read may run at a time.
type DRM struct {
	proc      string
	clients   clientTimes
	isolation workers.Isolation
}

// NewDRM returns a reader of the processes below root.
func NewDRM(root string) *DRM { return &DRM{proc: filepath.Join(root, "proc")} }

// Read looks through the open files of all processes for DRM devices of the driver, until ctx ends. The errors say what could not be
// read; what was read is returned with them.
func (d *DRM) Read(ctx context.Context, inv *scan.Inventory, now time.Time) ([]Usage, []error) {
	r := &drmRead{inv: inv, proc: d.proc, clients: &d.clients, isolation: &d.isolation}
	d.clients.begin(now)
	r.read(ctx)
	d.clients.end(ctx.Err() != nil, r.blockedPIDs)
	if len(r.blockedPIDs) > 0 {
		r.errs = append(r.errs, blockedError("open files", r.blockedPIDs))
	}
	if r.denied {
		r.fail("read the open files of processes", errPermission)
	}
	if r.truncated || r.full() {
		r.fail("read the open files of processes", errTooMany)
	}
	return r.usages, r.errs
}

// drmRead is one read.
type drmRead struct {
	inv     *scan.Inventory
	proc    string
	clients *clientTimes

	isolation   *workers.Isolation
	blockedPIDs []int64 // processes whose files could not be read in time

	files, drmFiles int
	truncated       bool // not all processes were listed
	denied          bool // some process may not be looked into
	usages          []Usage
	errs            []error
}

func (r *drmRead) fail(subject string, err error) {
	if len(r.errs) < maxProblems {
		r.errs = append(r.errs, fmt.Errorf("amdgpu: processes: %s: %w", subject, err))
	}
}

// full reports whether a limit is reached.
func (r *drmRead) full() bool {
	return r.files >= maxFiles || r.drmFiles >= maxDRMFiles || len(r.usages) >= maxProcesses
}

func (r *drmRead) read(ctx context.Context) {
	pids, truncated, err := listPIDs(r.proc)
	if err != nil {
		r.fail("read "+r.proc, err)
	}
	r.truncated = truncated
	// A client that two processes have open counts for the first of them, always the same.
	r.blockedPIDs = workers.Each(ctx, r.isolation, pids, r.readProcess, r.take)
}

// drmProcess is what the open files of one process show.
type drmProcess struct {
	files   int
	clients []drmFile
	errs    []error
}

// drmFile is an open DRM device.
type drmFile struct {
	node string
	text string // its fdinfo
}

// readProcess reads the open files of a process. It uses nothing of the read, since it may return after it.
func (r *drmRead) readProcess(pid int64) drmProcess {
	var p drmProcess
	dir := filepath.Join(r.proc, strconv.FormatInt(pid, 10))
	refused := func(err error) {
		if err != nil && len(p.errs) < maxProblems {
			p.errs = append(p.errs, err)
		}
	}
	names, err := sysfs.Names(dir+"/fd", maxFiles)
	refused(err)
	p.files = len(names)
	for _, name := range names {
		target, err := os.Readlink(dir + "/fd/" + name)
		if err != nil {
			refused(err)
			continue
		}
		if node := filepath.Base(target); scan.IsDRMNode(node) && len(p.clients) < maxDRMFiles {
			text, err := sysfs.Read(dir + "/fdinfo/" + name)
			if err != nil {
				refused(err)
				continue
			}
			p.clients = append(p.clients, drmFile{node, string(text)})
		}
	}
	return p
}

// take adds a process. It reports whether there may be more.
func (r *drmRead) take(pid int64, p drmProcess) bool {
	for _, err := range p.errs {
		r.refused(err)
	}
	r.files += p.files
	first := len(r.usages)
	for _, f := range p.clients {
		if r.drmFiles++; r.full() {
			return false
		}
		r.addFile(first, pid, f)
	}
	return !r.full()
}

// addFile adds an open DRM device. The usages of the process begin at first.
func (r *drmRead) addFile(first int, pid int64, f drmFile) {
	c := parseFDInfo(f.text)
	if !c.amdgpu {
		return
	}
	own, ok := r.owner(f.node, c.address)
	if !ok {
		return
	}
	if card := r.inv.Card(own.Address); card == nil || !card.VideoDecodes {
		c.encodes()
	}
	shares, timed, counted := r.clients.take(pid, own, &c)
	if !counted {
		r.usage(first, pid, own).addClient(&c, shares, timed && !c.untimed)
	}
}

// refused notes what the kernel does not let this process see. The end of a process meanwhile is not a refusal.
func (r *drmRead) refused(err error) {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
	case errors.Is(err, fs.ErrPermission):
		r.denied = true
	default:
		r.fail("read", err)
	}
}

// owner returns the GPU or partition of an open file. The GPU is that which the driver names, since in a container a node may have
// the name of another; the partition goes by the name of the node, as nothing else shows it.
func (r *drmRead) owner(node, address string) (scan.Owner, bool) {
	own, ok := r.inv.DRMNodes[node]
	if ok && (own.Address == address || address == "") {
		return own, true
	}
	return scan.Owner{Address: address}, r.inv.Card(address) != nil && !r.inv.Partitions
}

// usage returns the usage of a GPU by a process, whose usages begin at first.
func (r *drmRead) usage(first int, pid int64, own scan.Owner) *Usage {
	for i := first; i < len(r.usages); i++ {
		if u := &r.usages[i]; u.PID == pid && u.Owner == own {
			return u
		}
	}
	r.usages = append(r.usages, Usage{PID: pid, Owner: own})
	return &r.usages[len(r.usages)-1]
}
