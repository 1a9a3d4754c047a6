// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "time"

// Option changes what a source takes for granted: the machine's clock and files, and how often it will be read.
type Option func(*options)

type options struct {
	interval time.Duration
	now      func() time.Time
	sysRoot  string
	procRoot string
}

func newOptions(opts []Option) options {
	o := options{now: time.Now, sysRoot: "/sys", procRoot: "/proc"}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithInterval tells how often the source will be read. Where the driver keeps its samples for a shorter time than that,
// they are fetched in between. Without it they never are.
func WithInterval(d time.Duration) Option { return func(o *options) { o.interval = d } }

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithSysRoot replaces /sys, under which the PCI devices are looked for.
func WithSysRoot(path string) Option { return func(o *options) { o.sysRoot = path } }

// WithProcRoot replaces /proc, under which the driver describes its GPUs.
func WithProcRoot(path string) Option { return func(o *options) { o.procRoot = path } }
