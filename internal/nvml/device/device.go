// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// device is what the readers need of a GPU or a MIG instance.
type device struct {
	library.Calls
	cfg    *Config
	lib    *library.Library
	handle library.Device

	fields    *fieldValues // of a GPU
	constants map[*library.Function]library.Value
	cache     keptValues

	readTime time.Time // of the present read
	horizon  uint64    // the latest plausible time of a sample in it
	mig      bool      // MIG is on: the instances have the processes

	migModes migModes
}

func newDevice(lib *library.Library, cfg *Config, name string) device {
	return device{
		Calls: library.NewCalls(lib.Has, name), cfg: cfg, lib: lib,
		constants: map[*library.Function]library.Value{},
	}
}

// begin starts a read.
func (d *device) begin(now time.Time) {
	d.readTime, d.horizon = now, horizon(now)
	d.Begin()
}

// number32 calls a function that returns an unsigned int, unless it is known not to work.
func (d *device) number32(f *library.Function, call func(library.Device) (uint32, library.Return)) (library.Value, bool) {
	return d.value(f, number(call))
}

// number64 calls a function that returns an unsigned long long, unless it is known not to work.
func (d *device) number64(f *library.Function, call func(library.Device) (uint64, library.Return)) (library.Value, bool) {
	return d.value(f, number64(call))
}

// valueCall calls a function. It returns false if the answer is NVML's mark for no value.
type valueCall func(library.Device) (library.Value, bool, library.Return)

func (d *device) value(f *library.Function, call valueCall) (library.Value, bool) {
	if !d.Can(f) {
		return library.Value{}, false
	}
	v, ok, ret := call(d.handle)
	return v, d.OK(f, library.Code(ret)) && ok
}

// number is the call of a function that returns an unsigned int, which the binding may give another type.
func number[T ~int | ~int32 | ~uint32](call func(library.Device) (T, library.Return)) valueCall {
	return func(h library.Device) (library.Value, bool, library.Return) {
		n, ret := call(h)
		v, ok := library.Uint32(uint32(n))
		return v, ok, ret
	}
}

// number64 is the call of a function that returns an unsigned long long.
func number64(call func(library.Device) (uint64, library.Return)) valueCall {
	return func(h library.Device) (library.Value, bool, library.Return) {
		n, ret := call(h)
		v, ok := library.Uint64(n)
		return v, ok, ret
	}
}

// numberOf is number for a function with an argument.
func numberOf[A any, T ~int | ~int32 | ~uint32](call func(library.Device, A) (T, library.Return), argument A) valueCall {
	return number(func(h library.Device) (T, library.Return) { return call(h, argument) })
}

// future reports whether a time by the driver has yet to come. A read may take long: what was measured meanwhile has come.
func (d *device) future(us uint64) bool { return us > d.horizon && us > horizon(d.cfg.Now()) }

// Config is what a GPU has to know of the source that reads it.
type Config struct {
	// Want is what to read.
	Want gpu.Group
	// Interval is the time between two reads; 0: not known.
	Interval time.Duration
	// PCIeSampling adds PCIe traffic up if the driver's counters cannot be used.
	PCIeSampling bool
	// Now is the machine's clock.
	Now func() time.Time
	// Peers are the GPUs of the machine that answer; nil: peers are not wanted.
	Peers *Peers
	// NUMANode returns the NUMA node of a PCI address.
	NUMANode func(address string) gpu.Opt[int64]
	// MaySleep reports whether the kernel may suspend the GPU at a PCI address while it is idle; nil: no GPU.
	MaySleep func(address string) bool
}

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
func (k *keptValues) begin(now time.Time, interval time.Duration, happened bool) {
	if age := now.Sub(k.since); k.values == nil || happened || age < 0 || age+interval > keptFor {
		k.values, k.since = map[*library.Function]keptValue{}, now
	}
}

// renewed reports whether the values are requested in the read that began at a time.
func (k *keptValues) renewed(now time.Time) bool { return k.since.Equal(now) }

// drop has the values requested again.
func (k *keptValues) drop() { k.values = nil }

// keptValue returns the kept value of a function, or calls it.
func (d *device) keptValue(f *library.Function, call valueCall, basis int64) (library.Value, bool) {
	if k, ok := d.cache.values[f]; ok && k.basis == basis {
		return k.value, true
	}
	v, ok := d.value(f, call)
	if ok && d.cache.values != nil {
		d.cache.values[f] = keptValue{v, basis}
	}
	return v, ok
}
