// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxProblems bounds the problems of one device in one read.
const maxProblems = 32

var (
	errEmpty   = errors.New("the file is empty")
	errGarbage = errors.New("not of the form that the driver writes")
	errAsleep  = errors.New("asleep (runtime power management), and not read so that it stays so; set wake_devices to read it all the same")
	errRefuses = errors.New("asleep (runtime power management), and its driver does not wake it up to be read")
)

// unsupported tells the answers by which the driver says that a GPU does not have a reading.
func unsupported(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOSYS)
}

// departed tells the answers of a file whose device was removed.
func departed(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO)
}

// advice says what to do about an error, where there is something.
func advice(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "; the driver answers so while it resets the GPU; else let the collector's user read the file"
	case errors.Is(err, syscall.EBUSY):
		return "; the GPU is busy with a reset or a change of its configuration"
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ETIME), errors.Is(err, syscall.ETIMEDOUT):
		return "; its firmware does not answer, see the kernel's log"
	case departed(err):
		return "; it was removed"
	}
	return ""
}

// readError says which file of which device could not be read.
func readError(device, file string, err error) error {
	return fmt.Errorf("amdgpu: %s: read %s: %w%s", device, file, err, advice(err))
}

// problems collects what could not be read of one device.
type problems struct{ list []gpu.Problem }

func (p *problems) add(what string, err error) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, gpu.Problem{What: what, Err: err})
	}
}
