// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import "time"

// Option changes what a source assumes: the machine's clock and files, and how often it is read.
type Option func(*options)

type options struct {
	interval time.Duration
	now      func() time.Time
	sysRoot  string
	procRoot string
	patience time.Duration // 0: each kind of call and file has its own
	hung     time.Duration // after which a call counts as hung; 0 for the default of workers.Pool
}

func newOptions(opts []Option) options {
	o := options{now: time.Now, sysRoot: "/sys", procRoot: "/proc"}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithInterval sets the interval at which the source is read. If the driver keeps its samples for less, they are fetched in between.
// Without an interval they never are.
func WithInterval(d time.Duration) Option { return func(o *options) { o.interval = d } }

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithSysRoot replaces /sys, which has the PCI devices.
func WithSysRoot(path string) Option { return func(o *options) { o.sysRoot = path } }

// WithPatience replaces how long a read waits at most for single files, and what is fetched between reads for its calls: for tests, which a
// busy machine must not fail. A read still ends before its deadline.
func WithPatience(d time.Duration) Option { return func(o *options) { o.patience = d } }

// WithHungAfter replaces how long a call has been outstanding before it counts as hung; negative: it does at once. See workers.Pool.
func WithHungAfter(d time.Duration) Option { return func(o *options) { o.hung = d } }

// WithProcRoot replaces /proc, in which the driver describes its GPUs.
func WithProcRoot(path string) Option { return func(o *options) { o.procRoot = path } }
