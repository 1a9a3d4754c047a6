// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The bounds of one look at the processes.
const (
	maxPIDs      = 1 << 17
	maxFiles     = 1 << 20 // open files of all processes
	maxDRMFiles  = 1 << 14 // of them, of DRM devices
	maxProcesses = 1 << 14
)

var (
	errTooMany = errors.New("too many to look at; those beyond are left out")
	errNoTrace = errors.New("not permitted for every process; give the collector CAP_SYS_PTRACE. Until then the memory and time of" +
		" those processes are known only where KFD tells them")
)

// processReader reads which processes have which GPU open. While its task runs, all of it but task and stop belongs to the
// task.
type processReader struct {
	task *task
	stop atomic.Bool // give up: nobody waits any more

	root string
	want gpu.Group

	inv *inventory
	now time.Time

	list, fds, buf, target []byte
	pids                   []int64
	clients                clientTable
	files, drmFiles        int

	uses     []use
	denied   bool
	problems []error
}

func newProcessReader(root string, want gpu.Group) *processReader {
	p := &processReader{
		root: root, want: want,
		list: make([]byte, listSize), fds: make([]byte, listSize), buf: make([]byte, 8<<10), target: make([]byte, 256),
	}
	p.task = &task{run: p.read}
	return p
}

// begin prepares a read.
func (p *processReader) begin(inv *inventory, now time.Time) {
	p.inv, p.now = inv, now
	p.stop.Store(false)
}

func (p *processReader) read() {
	p.uses, p.problems, p.denied = p.uses[:0], p.problems[:0], false
	p.files, p.drmFiles = 0, 0
	p.clients.begin(p.now)
	p.readFDInfo()
	p.clients.end(p.stop.Load())
	if p.denied {
		p.fail("look into the open files of processes", errNoTrace)
	}
	if p.files >= maxFiles || p.drmFiles >= maxDRMFiles || len(p.pids) >= maxPIDs || len(p.uses) >= maxProcesses {
		p.fail("look into the open files of processes", errTooMany)
	}
}

func (p *processReader) fail(what string, err error) {
	p.problems = append(p.problems, fmt.Errorf("amdgpu: processes: %s: %w", what, err))
}

// readFDInfo looks through the open files of all processes for those of the driver's DRM devices.
func (p *processReader) readFDInfo() {
	path := filepath.Join(p.root, "proc")
	proc, err := openDir(path)
	if err != nil {
		p.fail("open the process table", err)
		return
	}
	defer proc.close()
	p.pids = p.pids[:0]
	for name, err := range proc.names(p.list) {
		if err != nil {
			p.fail("read "+path, err)
			break
		}
		if pid, ok := parseUint(name); ok && pid > 0 && pid < 1<<31 && len(p.pids) < maxPIDs {
			p.pids = append(p.pids, int64(pid))
		}
	}
	// A client that two processes have open counts for the first of them, always the same.
	slices.Sort(p.pids)
	for _, pid := range p.pids {
		if p.stop.Load() || p.files >= maxFiles || p.drmFiles >= maxDRMFiles || len(p.uses) >= maxProcesses {
			return
		}
		p.readProcess(proc, pid)
	}
}

func (p *processReader) readProcess(proc *dir, pid int64) {
	number := string(appendUint(nil, uint64(pid)))
	d, err := proc.openBelow(number + "/fd")
	if err != nil {
		p.refused(err)
		return
	}
	defer d.close()
	start := len(p.uses)
	for fd, err := range d.names(p.fds) {
		if err != nil {
			p.refused(err)
			return
		}
		if p.files++; p.files >= maxFiles || p.drmFiles >= maxDRMFiles {
			return
		}
		name := string(fd)
		target, err := d.link(name, p.target)
		if err != nil {
			p.refused(err)
			continue
		}
		node := target[bytes.LastIndexByte(target, '/')+1:]
		if !isDRMNode(node) {
			continue
		}
		p.drmFiles++
		text, err := proc.read(number+"/fdinfo/"+name, p.buf)
		if err != nil {
			p.refused(err)
			continue
		}
		c := parseFDInfo(text)
		if !c.amdgpu {
			continue
		}
		if own, ok := p.owner(node, c.address); ok {
			if owning := p.inv.card(own.address); owning == nil || !owning.decodes {
				c.encodes()
			}
			p.add(start, pid, own, &c)
		}
	}
}

// refused takes note of what the kernel does not let this process see. A process that ended meanwhile is none.
func (p *processReader) refused(err error) {
	if errors.Is(err, fs.ErrPermission) {
		p.denied = true
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) && len(p.problems) < maxProblems {
		p.fail("read", err)
	}
}

// owner tells which GPU or partition an open file is of: the GPU as the driver says, for in a container a node may have the name of
// another; the partition by the name, which nothing else tells.
func (p *processReader) owner(node []byte, address string) (owner, bool) {
	own, ok := p.inv.drm[string(node)]
	if ok && (own.address == address || address == "") {
		return own, true
	}
	return owner{address: address}, p.inv.card(address) != nil && !p.inv.divisible
}

// add adds a client to what its process does.
func (p *processReader) add(start int, pid int64, own owner, c *client) {
	shares, timed, fresh := p.clients.take(own, c)
	if !fresh {
		return
	}
	u := p.use(start, pid, own)
	u.drm = true
	u.timed = timed
	if c.sized {
		before, _ := u.memory.Get()
		u.memory = gpu.Some(before + int64(c.memory))
	}
	for e := range c.engines {
		u.shares[e] += shares[e]
		u.used[e] = u.used[e] || c.used[e]
	}
}

// use returns what a process does on a GPU; its uses are together, from start on.
func (p *processReader) use(start int, pid int64, own owner) *use {
	for i := start; i < len(p.uses) && p.uses[i].pid == pid; i++ {
		if u := &p.uses[i]; u.address == own.address && u.partition == own.partition {
			return u
		}
	}
	p.uses = append(p.uses, use{pid: pid, address: own.address, partition: own.partition})
	return &p.uses[len(p.uses)-1]
}
