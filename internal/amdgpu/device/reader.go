// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// metricsFile is the gpu_metrics table.
const metricsFile = "gpu_metrics"

// reader reads the files of a GPU in one read, and collects what could not be read.
type reader struct {
	readFile func(path string) ([]byte, error)
	dir      string // of the GPU's PCI function
	title    string // names the GPU in errors

	problems  []gpu.Problem
	fileLimit error

	// Files for which the driver asks the GPU.
	answered int   // could be read
	failed   int   // could not be read, although the GPU has the quantity
	denied   int   // of the failed ones: this process may not open them
	invalid  int   // are an invalid argument or not supported: the GPU does not have the quantity, or it does not answer
	lastErr  error // why the last of them could not be read
}

// asksGPU reports whether the driver asks the GPU's firmware for a file. What the driver or the kernel knows by itself, such as the
// memory, the power limit or the PCIe link, says nothing of whether the GPU still answers.
func asksGPU(name string) bool {
	return name == metricsFile || strings.HasSuffix(name, "_busy_percent") || strings.HasSuffix(name, "_average") ||
		strings.HasSuffix(name, "_input")
}

// plain reads a file of the GPU without judging the answer.
func (r *reader) plain(name string) (string, error) {
	text, err := r.readFile(filepath.Join(r.dir, name))
	r.note(err)
	return string(text), err
}

// file reads a file of the GPU; quantity is what it is read for. A file without a name does not exist.
func (r *reader) file(quantity, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	return r.fileIn(r.dir, quantity, name)
}

func (r *reader) fileIn(dir, quantity, name string) (string, bool) {
	text, err := r.readFile(filepath.Join(dir, name))
	if err == nil && len(text) == 0 {
		if name == metricsFile {
			return "", false // the driver's answer for older GPUs without a table
		}
		err = errEmpty
	}
	if err != nil {
		r.refuse(quantity, name, err)
		return "", false
	}
	if asksGPU(name) {
		r.answered++
	}
	return string(text), true
}

// refuse notes that a file could not be read, unless the driver says so that the GPU does not have the quantity.
func (r *reader) refuse(quantity, name string, err error) {
	r.note(err)
	failure := readError(r.title, name, err)
	if asksGPU(name) {
		r.count(err, failure)
	}
	if !unsupported(err) {
		r.problem(quantity, failure)
	}
}

// count counts a file that could not be read and for which the driver asks the GPU.
func (r *reader) count(err, failure error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case unsupported(err):
		r.invalid++
	default:
		r.failed++
		if errors.Is(err, syscall.EACCES) { // the driver itself answers EPERM while it resets the GPU
			r.denied++
		}
	}
	r.lastErr = failure
}

// garbled notes that a file was read and not understood.
func (r *reader) garbled(quantity, name string) {
	r.problem(quantity, readError(r.title, name, sysfs.ErrFormat))
}

func (r *reader) problem(quantity string, err error) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, gpu.Problem{What: quantity, Err: err})
	}
}

// note remembers that no further file may be opened.
func (r *reader) note(err error) {
	if limit := sysfs.FileLimit(err); limit != nil {
		r.fileLimit = limit
	}
}

// number reads a file that holds a number and nothing else.
func (r *reader) number(quantity, name string) gpu.Opt[int64] {
	text, ok := r.file(quantity, name)
	if !ok {
		return gpu.Opt[int64]{}
	}
	v, ok := sysfs.ParseInt(text)
	if !ok {
		r.garbled(quantity, name)
		return gpu.Opt[int64]{}
	}
	return gpu.Some(v)
}

// scaled reads a number whose unit is 1/per of the SI unit. validate drops implausible values.
func (r *reader) scaled(quantity, name string, per float64, validate func(float64) gpu.Opt[float64]) gpu.Opt[float64] {
	v, ok := r.number(quantity, name).Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return validate(float64(v) / per)
}

// How many of the driver's units make one of SI.
const (
	percent = 100
	milli   = 1000
	micro   = 1_000_000
)
