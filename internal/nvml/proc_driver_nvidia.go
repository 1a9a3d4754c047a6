// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/device"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

const maxInformation = 4096 // bytes

// information is what the kernel's driver says of a GPU in /proc/driver/nvidia/gpus/<address>/information, also of one that NVML does not list.
type information struct {
	model, uuid, vbios, address string
	minor                       gpu.Opt[int]
	excluded                    bool // by the administrator
}

// parseInformation reads lines of the form "GPU UUID: \t GPU-…". The driver writes question marks for what it does not know.
func parseInformation(text string) information {
	var info information
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		value = gpu.CleanText(strings.TrimSpace(value))
		if !ok || value == "" || strings.Contains(value, "??") {
			continue
		}
		switch strings.TrimSpace(key) {
		case "Model":
			info.model = value
		case "GPU UUID":
			if strings.HasPrefix(value, "GPU-") {
				info.uuid = value
			}
		case "Video BIOS":
			info.vbios = value
		case "Bus Location":
			info.address = normalAddress(value)
		case "Device Minor":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 {
				info.minor = gpu.Some(n)
			}
		case "GPU Excluded":
			info.excluded = strings.EqualFold(value, "yes")
		}
	}
	return info
}

// identity describes the GPU by what the kernel's driver says of it.
func (i information) identity() *device.Identity {
	identity := &device.Identity{ID: i.uuid, Model: i.model, Info: gpu.Info{PCIAddress: i.address, FirmwareVersion: i.vbios}}
	if minor, ok := i.minor.Get(); ok {
		identity.Name = device.Name(minor)
	}
	return identity
}

// driverFiles reads what the kernel's driver says of GPUs. The driver may ask the GPU for it, and it is read for GPUs that do not answer: a
// read is waited for as long as one may take that works, and each GPU has one at most.
type driverFiles struct {
	read  func(procRoot, address string) (information, bool) // a field, so that a test can have it hang
	pool  workers.Pool
	files []*driverFile
	// patience is how long a read is waited for.
	patience time.Duration
}

// driverFile is the file of one GPU.
type driverFile struct {
	address string
	task    *workers.Task
	result  driverFileResult // belongs to the outstanding read
	last    driverFileResult // of the last read that returned
	read    bool             // there was one
}

type driverFileResult struct {
	information
	ok bool
}

// driverFilePatience is much longer than the driver takes if it need not wait for a GPU.
const driverFilePatience = 500 * time.Millisecond

func newDriverFiles(patience time.Duration) *driverFiles {
	return &driverFiles{read: readInformation, patience: cmp.Or(patience, driverFilePatience)}
}

// query reads what the driver says of the GPUs at these addresses, in half of the time that is left at most. What it said of others is
// forgotten, for another GPU may come to be there.
func (d *driverFiles) query(ctx context.Context, procRoot string, addresses []string) {
	d.files = slices.DeleteFunc(d.files, func(f *driverFile) bool {
		if slices.Contains(addresses, f.address) {
			return false
		}
		f.read = false
		return !f.task.Busy()
	})
	if len(addresses) == 0 {
		return
	}
	patience := d.patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var jobs []workers.Job
	for _, address := range addresses {
		f := d.file(address)
		jobs = append(jobs, workers.Job{Task: f.task, Func: func() {
			f.result.information, f.result.ok = d.read(procRoot, address)
		}})
	}
	d.pool.Run(ctx, jobs...)
	for _, f := range d.files {
		if f.task.Outcome() == workers.Done {
			f.last, f.read = f.result, true
		}
	}
}

func (d *driverFiles) file(address string) *driverFile {
	for _, f := range d.files {
		if f.address == address {
			return f
		}
	}
	f := &driverFile{address: address, task: d.pool.NewTask(nil)}
	d.files = append(d.files, f)
	return f
}

// get returns the driver's information on a GPU from this or its last answer; false if there is none.
func (d *driverFiles) get(address string) (information, bool) {
	f := d.file(address)
	return f.last.information, f.last.ok || !f.read // a GPU that does not answer is there
}

// readInformation returns the driver's information on the GPU at an address; false if there is none.
func readInformation(procRoot, address string) (information, bool) {
	text, err := readFile(filepath.Join(procRoot, "driver/nvidia/gpus", address, "information"), maxInformation)
	if err != nil {
		return information{}, false
	}
	info := parseInformation(text)
	info.address = address
	return info, true
}

// canSuspend reports whether the kernel's driver lets a GPU be suspended while it is not used, which it does for few models (Runtime D3). If the
// driver does not say, it may.
func canSuspend(procRoot, address string) bool {
	text, _ := readFile(filepath.Join(procRoot, "driver/nvidia/gpus", address, "power"), maxInformation)
	for line := range strings.Lines(text) {
		if status, ok := strings.CutPrefix(line, "Runtime D3 status:"); ok {
			return strings.HasPrefix(strings.TrimSpace(status), "Enabled")
		}
	}
	return true
}

// readFile reads a file up to a bound.
func readFile(path string, limit int64) (string, error) {
	f, err := os.Open(path) //nolint:gosec // below the root of procfs
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return string(text), err
}

// normalAddress writes a PCI address as the kernel does: 0000:1b:00.0. NVML and nvidia-smi write eight digits of domain, and capitals. It
// returns the empty string for what is not a PCI address.
func normalAddress(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 4 {
		return ""
	}
	var n [4]uint64
	for i, bits := range [4]int{32, 8, 8, 4} {
		v, err := strconv.ParseUint(parts[i], 16, bits)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	return device.PCIAddress(n[0], n[1], n[2], n[3])
}
