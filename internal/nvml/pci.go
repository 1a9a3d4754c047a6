// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	vendorNVIDIA   = "0x10de"
	rescanInterval = time.Minute
	mostFunctions  = 1 << 16 // of a PCI bus
)

// pciBus is what the kernel says of NVIDIA's GPUs, whether or not the driver can read them.
type pciBus struct {
	root string // /sys
	// functions are the addresses of the display-class functions of NVIDIA, in order, and the driver that each is bound
	// to; empty: none.
	functions []pciFunction
	known     bool // the bus could be read
	scanned   time.Time
}

type pciFunction struct {
	address string
	driver  string
}

// look reads which drivers the GPUs are bound to, and from time to time, or where asked to, which GPUs there are.
func (b *pciBus) look(now time.Time, again bool) {
	if again || b.scanned.IsZero() || now.Sub(b.scanned) >= rescanInterval || now.Before(b.scanned) {
		b.scan()
		b.scanned = now
	}
	for i := range b.functions {
		f := &b.functions[i]
		f.driver = ""
		if target, err := os.Readlink(filepath.Join(b.root, "bus/pci/devices", f.address, "driver")); err == nil {
			f.driver = filepath.Base(target)
		}
	}
}

func (b *pciBus) scan() {
	b.functions = b.functions[:0]
	dir := filepath.Join(b.root, "bus/pci/devices")
	entries, err := os.ReadDir(dir)
	b.known = err == nil
	for _, entry := range entries[:min(len(entries), mostFunctions)] {
		path := filepath.Join(dir, entry.Name())
		if attribute(path, "vendor") != vendorNVIDIA {
			continue
		}
		// VGA and 3D controllers. The virtual functions of a GPU that is split for virtual machines are not GPUs of this machine.
		class := attribute(path, "class")
		if !strings.HasPrefix(class, "0x0300") && !strings.HasPrefix(class, "0x0302") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(path, "physfn")); err == nil {
			continue
		}
		b.functions = append(b.functions, pciFunction{address: strings.ToLower(entry.Name())})
	}
	slices.SortFunc(b.functions, func(x, y pciFunction) int { return strings.Compare(x.address, y.address) })
}

// driver returns what a GPU is bound to; false where it is not on the bus.
func (b *pciBus) driver(address string) (string, bool) {
	for _, f := range b.functions {
		if f.address == address {
			return f.driver, true
		}
	}
	return "", false
}

// foreign tells whether a GPU is bound to another driver than NVIDIA's, and so none of its business.
func (b *pciBus) foreign(address string) bool {
	driver, ok := b.driver(address)
	return ok && driver != "" && driver != "nvidia"
}

// numaNode returns the NUMA node of the CPUs nearest to a GPU.
func (b *pciBus) numaNode(address string) string {
	return attribute(filepath.Join(b.root, "bus/pci/devices", address), "numa_node")
}

// attribute reads a small file of sysfs; empty where it cannot be read.
func attribute(dir, name string) string {
	text, err := readSmall(filepath.Join(dir, name), 64)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// readSmall reads a file up to a bound.
func readSmall(path string, most int64) (string, error) {
	f, err := os.Open(path) //nolint:gosec // below the roots of sysfs and procfs
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// presence counts the GPUs of a machine of which none can be read.
func (b *pciBus) presence() (p [gpu.NumPresences]gpu.Opt[int64]) {
	if !b.known {
		return p
	}
	var missing, unmanaged int64
	for _, f := range b.functions {
		if b.foreign(f.address) {
			unmanaged++
		} else {
			missing++
		}
	}
	p[gpu.Visible], p[gpu.Missing], p[gpu.Unmanaged] = gpu.Some[int64](0), gpu.Some(missing), gpu.Some(unmanaged)
	return p
}
