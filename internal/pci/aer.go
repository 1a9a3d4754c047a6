// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxAERFile = 4096 // bytes of an aer_dev_* file, which sysfs bounds to a page
	maxPlaces  = 1024 // GPUs whose place is remembered: no machine has so many, but a driver may name any address
	maxAbove   = 32   // functions above a GPU
)

// aerFiles are the files of a function that count errors, and the lines that have their sums.
var aerFiles = [gpu.NumPCIeErrorTypes]struct{ name, sum string }{
	gpu.PCIeCorrected: {"aer_dev_correctable", "TOTAL_ERR_COR"},
	gpu.PCIeNonFatal:  {"aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"},
	gpu.PCIeFatal:     {"aer_dev_fatal", "TOTAL_ERR_FATAL"},
}

// ErrorReader reads the errors of PCI Express (AER) that the kernel counts for GPUs and for the ports above them. The kernel has its
// counts in memory: a GPU that hangs or is off the bus delays no read. It is for one goroutine at a time.
type ErrorReader struct {
	sys    string
	places map[string]place // by the address of the GPU
}

// place is the place of a GPU on the bus.
type place struct {
	board []string // the directories of the GPU and of the ports of its board's own switch
	port  string   // the directory of the port above the board; empty if there is no port, as in a virtual machine
}

// NewErrorReader returns a reader of the files below sys, which is /sys or its mount point.
func NewErrorReader(sys string) *ErrorReader {
	return &ErrorReader{sys: sys, places: map[string]place{}}
}

// Describe sets PCIe.Errors of the GPUs of a node that this machine's bus has. A function without AER has no counts.
func (r *ErrorReader) Describe(_ context.Context, node *gpu.Node) {
	for i := range node.Devices {
		d := &node.Devices[i]
		if d.Parent != "" || d.Info.PCIAddress == "" {
			continue // the bus knows no partitions
		}
		location, ok := r.place(d.Info.PCIAddress, vendors[d.Vendor])
		if !ok {
			continue
		}
		for kind := range aerFiles {
			var err error
			if d.PCIe.Errors[gpu.PCIeGPU][kind], err = sumOf(kind, location.board...); err == nil && location.port != "" {
				d.PCIe.Errors[gpu.PCIePort][kind], err = sumOf(kind, location.port)
			}
			if err != nil {
				node.Problems = append(node.Problems, gpu.Problem{Device: d.ID, What: "PCI Express errors", Err: err})
				break
			}
		}
	}
}

var vendors = map[gpu.Vendor]int64{gpu.NVIDIA: VendorNVIDIA, gpu.AMD: VendorAMD}

// place returns the place of a GPU. The place does not change while its directory exists. A GPU that is off the bus keeps its last place,
// so that the port above it still counts.
func (r *ErrorReader) place(address string, vendor int64) (place, bool) {
	known, ok := r.places[address]
	if ok {
		return known, true
	}
	if !functionForm.MatchString(address) || len(r.places) >= maxPlaces {
		return place{}, false
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(r.sys, "bus/pci/devices", address))
	if err != nil {
		return place{}, false // no sysfs, or not the sysfs of the machine with the GPU
	}
	if found, err := readNumber(filepath.Join(dir, "vendor")); err != nil || found != vendor {
		return place{}, false // another machine's bus
	}
	location := place{board: []string{dir}}
	for range maxAbove {
		dir = filepath.Dir(dir)
		if !functionForm.MatchString(filepath.Base(dir)) {
			break
		}
		// A board of AMD may have a switch of its own, whose ports are AMD's: the link to the host ends there.
		if above, err := readNumber(filepath.Join(dir, "vendor")); err == nil && above == VendorAMD && vendor == VendorAMD {
			location.board = append(location.board, dir)
			continue
		}
		location.port = dir
		break
	}
	r.places[address] = location
	return location, true
}

var functionForm = regexp.MustCompile(`^[[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[0-7]$`)

// sumOf returns the errors of one kind of all these functions; absent if no function counts them.
func sumOf(kind int, dirs ...string) (gpu.Counter[int64], error) {
	var sum int64
	counts := false
	for _, dir := range dirs {
		n, err := readErrors(filepath.Join(dir, aerFiles[kind].name), aerFiles[kind].sum)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it has no AER, or is off the bus
		case err != nil:
			return gpu.Counter[int64]{}, err
		}
		sum, counts = sum+n, true
	}
	if !counts {
		return gpu.Counter[int64]{}, nil
	}
	return gpu.Total(sum), nil
}

// readErrors returns the sum that a file of errors has.
func readErrors(path, sum string) (int64, error) {
	text, err := readFile(path, maxAERFile)
	if err != nil {
		return 0, fmt.Errorf("pci: %w", err)
	}
	n, ok := parseErrors(text, sum)
	if !ok {
		return 0, fmt.Errorf("pci: %s: it contains no line %s with a number", path, sum)
	}
	return n, nil
}

// parseErrors returns the number of the line with this name of an aer_dev_* file, which has a name and a number in each line.
func parseErrors(text []byte, name string) (int64, bool) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) != 2 || string(words[0]) != name {
			continue
		}
		n, err := strconv.ParseInt(string(words[1]), 10, 64)
		return n, err == nil && n >= 0
	}
	return 0, false
}

// readFile reads the beginning of a file.
func readFile(path string, bound int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // below the root of sysfs
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, bound))
}
