// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// keptFor is the longest time for which a kept value is sent.
const keptFor = 5 * time.Minute

// keptValues are values that seldom change and cost the driver 0.1 to 0.4 ms each. They are requested every five minutes, and at the first read
// after an event or an error of the GPU.
type keptValues struct {
	values map[*library.Function]keptValue
	since  time.Time
}

// keptValue is a value that holds as long as another one does not change: basis.
type keptValue struct {
	value library.Value
	basis int64
}

// begin starts a read. happened: there was an event or an error.
func (k *keptValues) begin(at time.Time, interval time.Duration, happened bool) {
	if age := at.Sub(k.since); k.values == nil || happened || age < 0 || age+interval > keptFor {
		k.values, k.since = map[*library.Function]keptValue{}, at
	}
}

// renewed reports whether the values are requested in the read that began at a time.
func (k *keptValues) renewed(at time.Time) bool { return k.since.Equal(at) }

// drop has the values requested again.
func (k *keptValues) drop() { k.values = nil }

// keptValue returns the kept value of a function, or calls it.
func (d *device) keptValue(f *library.Function, call valueCall, basis int64) (library.Value, bool) {
	if k, ok := d.kept.values[f]; ok && k.basis == basis {
		return k.value, true
	}
	v, ok := d.value(f, call)
	if ok && d.kept.values != nil {
		d.kept.values[f] = keptValue{v, basis}
	}
	return v, ok
}
