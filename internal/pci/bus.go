// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package pci finds a vendor's GPUs on the PCI bus, whether or not a driver can read them, single devices with the GPUs that they are
// parts of, and the errors that the kernel counts of their links, from the files that the Linux kernel has below /sys. Elsewhere these files do not exist.
package pci

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The vendors' numbers, as in the file vendor of a function.
const (
	VendorAMD    = 0x1002
	VendorNVIDIA = 0x10de
)

const (
	maxFunctions = 1 << 16 // of a bus; no more are listed
	maxFile      = 64      // bytes of a file of sysfs; the rest is not read
)

// Function is a GPU on the bus.
type Function struct {
	Address  string         // domain:bus:device.function as the kernel writes it: 0000:03:00.0
	Driver   string         // the kernel driver that it is bound to; empty if unbound
	NUMANode gpu.Opt[int64] // of the nearest CPUs; absent if the kernel does not know it

	// MaySleep: runtime power management may suspend the GPU while it is not used.
	MaySleep bool
	// Asleep: runtime power management has suspended the GPU, or is about to suspend or resume it. Using it would wake it.
	Asleep bool
}

// PassedThrough reports whether the GPU is bound to a driver that reserves it for a virtual machine; see Properties.PassedThrough.
func (f Function) PassedThrough() bool { return passedThrough(f.Driver) }

// Functions are GPUs in the order of their addresses.
type Functions []Function

// Find returns the function at an address, and whether there is one.
func (all Functions) Find(address string) (Function, bool) {
	i, ok := slices.BinarySearchFunc(all, address, func(f Function, a string) int { return strings.Compare(f.Address, a) })
	if !ok {
		return Function{}, false
	}
	return all[i], true
}

// Foreign reports whether the GPU at an address is bound to another driver than the named one, such as vfio-pci.
func (all Functions) Foreign(address, driver string) bool {
	f, ok := all.Find(address)
	return ok && f.Driver != "" && f.Driver != driver
}

// OtherDriver reports whether a GPU is bound to another driver than the named one, and that driver does not reserve it for a virtual machine.
func (all Functions) OtherDriver(driver string) bool {
	return slices.ContainsFunc(all, func(f Function) bool { return f.Driver != "" && f.Driver != driver && !f.PassedThrough() })
}

// All reports whether something is true of all GPUs that are bound to a driver, of which there must be one.
func (all Functions) All(driver string, is func(Function) bool) bool {
	bound := slices.DeleteFunc(slices.Clone(all), func(f Function) bool { return f.Driver != driver })
	return len(bound) > 0 && !slices.ContainsFunc(bound, func(f Function) bool { return !is(f) })
}

// AllAsleep reports whether all GPUs that are bound to a driver are asleep.
func (all Functions) AllAsleep(driver string) bool {
	return all.All(driver, func(f Function) bool { return f.Asleep })
}

// Locate adds to the reason why a vendor's GPUs cannot be read the first GPU that this machine has for itself. It returns the reason alone
// if there is no such GPU.
func (all Functions) Locate(vendor gpu.Vendor, err error) error {
	for _, f := range all {
		switch {
		case f.PassedThrough():
		case f.Driver == "":
			return fmt.Errorf("%s GPU at PCI address %s: %w", vendor, f.Address, err)
		default:
			return fmt.Errorf("%s GPU at PCI address %s, bound to the kernel driver %s: %w", vendor, f.Address, f.Driver, err)
		}
	}
	return err
}

// Bus lists the GPUs of one vendor.
type Bus struct {
	sys    string
	vendor uint32
	isGPU  func(class uint32) bool

	names     []string  // in the directory when the functions were found; nil: they are to be found again
	functions Functions // without drivers and power states
}

// NewBus returns a bus below sys, which is /sys or its mount point. A function of the vendor is a GPU if isGPU says so of its class code:
// base class, subclass and programming interface in one number, 0x030000 for a VGA controller.
func NewBus(sys string, vendor uint32, isGPU func(class uint32) bool) *Bus {
	return &Bus{sys: sys, vendor: vendor, isGPU: isGPU}
}

// Scan returns the GPUs. It omits virtual functions: they are for virtual machines that share a GPU. Drivers and power states are read each
// time; vendors, classes and NUMA nodes only if the names of the bus have changed or again is set. No read of these files wakes a GPU.
//
// An error means that the bus could not be listed, that this process may not read a function, or that it may open no more files (EMFILE,
// ENFILE), and so nothing is known of the GPUs. Without an error the result is not nil. The caller owns it.
func (b *Bus) Scan(again bool) (Functions, error) {
	names, err := b.list()
	if err != nil {
		return nil, fmt.Errorf("pci: %w", err)
	}
	if again || !slices.Equal(names, b.names) {
		if err := b.find(names); err != nil {
			return nil, fmt.Errorf("pci: %w", err)
		}
	}
	functions := append(Functions{}, b.functions...)
	for i := range functions {
		f := &functions[i]
		f.Driver = linkName(b.path(f.Address, "driver"))
		f.MaySleep = b.word(f.Address, "power/control") == "auto"
		if f.MaySleep {
			status := b.word(f.Address, "power/runtime_status")
			f.Asleep = status == "suspended" || status == "suspending" || status == "resuming"
		}
	}
	return functions, nil
}

// list returns the addresses of all functions in order.
func (b *Bus) list() ([]string, error) {
	dir, err := os.Open(filepath.Join(b.sys, "bus/pci/devices"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(maxFunctions)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

// find picks the GPUs among the functions.
func (b *Bus) find(names []string) error {
	b.names, b.functions = nil, nil
	var unread bool
	for _, name := range names {
		function, ok, err := b.function(name)
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, fs.ErrPermission):
			return err
		case err != nil:
			unread = true // it was just removed, or is read at the next scan
		case ok:
			b.functions = append(b.functions, function)
		}
	}
	if !unread {
		b.names = names
	}
	return nil
}

// function returns the function of this name, and whether it is a GPU.
func (b *Bus) function(name string) (Function, bool, error) {
	vendor, err := readNumber(b.path(name, "vendor"))
	if err != nil || vendor != int64(b.vendor) {
		return Function{}, false, err
	}
	class, err := readNumber(b.path(name, "class"))
	if err != nil || !b.isGPU(uint32(class)) {
		return Function{}, false, err
	}
	if _, err := os.Lstat(b.path(name, "physfn")); err == nil {
		return Function{}, false, nil // a virtual function
	}
	f := Function{Address: name}
	if node, err := readNumber(b.path(name, "numa_node")); err == nil && node >= 0 {
		f.NUMANode = gpu.Some(node)
	}
	return f, true, nil
}

// word returns what a file holds; empty if it cannot be read.
func (b *Bus) word(name, file string) string {
	text, _ := readFile(b.path(name, file), maxFile)
	return strings.TrimSpace(string(text))
}

func (b *Bus) path(name, file string) string {
	return filepath.Join(b.sys, "bus/pci/devices", name, file)
}

// readNumber reads a file that holds a number, decimal or with 0x.
func readNumber(path string) (int64, error) {
	f, err := os.Open(path) //nolint:gosec // below the root of sysfs
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 0, 64)
}
