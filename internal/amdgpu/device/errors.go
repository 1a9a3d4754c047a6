// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// maxProblems bounds the problems of one GPU in one read.
const maxProblems = 32

var (
	errNoAnswer = errors.New("no answer in time")
	errEmpty    = errors.New("the file is empty")
	errAsleep   = errors.New("asleep (runtime power management) and not read, because a read would wake it; set wake_devices to read it anyway")
	errRefuses  = errors.New("asleep (runtime power management), and its driver does not wake it up for a read")
)

// unsupported reports whether the driver answers that a GPU does not have a quantity.
func unsupported(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOSYS)
}

// remedy says what an error means and what to do, if that is known.
func remedy(err error) string {
	switch {
	case errors.Is(err, syscall.EACCES):
		return "; allow the collector's user to read the file"
	case errors.Is(err, fs.ErrPermission):
		return "; the driver returns this error while it resets the GPU; otherwise allow the collector's user to read the file"
	case errors.Is(err, syscall.EBUSY):
		return "; the GPU is busy with a reset or a change of its configuration"
	case errors.Is(err, syscall.EINVAL):
		return "; see the kernel's log"
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ETIME), errors.Is(err, syscall.ETIMEDOUT):
		return "; its firmware does not answer; see the kernel's log"
	case errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return "; it was removed"
	}
	return ""
}

// readError returns an error that names the GPU and the file, with a remedy.
func readError(device, file string, err error) error {
	return fmt.Errorf("amdgpu: %s: read %s: %w%s", device, file, err, remedy(err))
}
