// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// powerState is the state of a GPU under runtime power management. To read it does not wake the GPU.
type powerState uint8

const (
	active    powerState = iota
	suspended            // or on the way there or back: a read would wake it
	broken               // the kernel failed to suspend or wake it: a file for which it must be awake is an invalid argument
)

func readPowerState(r *reader) powerState {
	text, err := sysfs.Read(r.dir + "/power/runtime_status")
	r.note(err)
	switch strings.TrimSpace(string(text)) {
	case "suspended", "suspending", "resuming":
		return suspended
	case "error":
		return broken
	}
	return active
}

// readSuspendedTime returns how long the GPU was suspended in all, in milliseconds.
func readSuspendedTime(r *reader) (int64, bool) {
	text, err := sysfs.Read(r.dir + "/power/runtime_suspended_time")
	r.note(err)
	return sysfs.ParseInt(string(text))
}
