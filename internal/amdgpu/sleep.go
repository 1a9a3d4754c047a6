// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

// powerState is what runtime power management has made of a GPU.
type powerState uint8

const (
	awake  powerState = iota
	asleep            // or on the way to either: it cannot be read without being woken
	broken            // it could not be put to sleep or woken: each reading that takes to wake it is an invalid argument
)

// powerState tells what the kernel has made of the GPU. To read that does not wake it.
func (b *board) powerState() powerState {
	text, err := b.dir.read("power/runtime_status", b.buf)
	if err != nil {
		return awake
	}
	switch status, _ := nextField(text); string(status) {
	case "suspended", "suspending", "resuming":
		return asleep
	case "error":
		return broken
	}
	return awake
}

// noteSleep takes note of whether the GPU has slept since the last read, be it between the two: the kernel counts for how long it
// sleeps in all. Without power its energy counter starts from 0, which is no wrap.
func (b *board) noteSleep() {
	text, err := b.dir.read("power/runtime_suspended_time", b.buf)
	if ms, ok := parseInt(text); err == nil && ok && ms != b.slept {
		b.slept = ms
		b.energy.Doubt()
	}
}
