// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import "time"

// clock converts the kernel's stamps to the time of day.
//
// printk stamps messages with the processor's clock since boot. Like CLOCK_MONOTONIC it does not count while the machine is suspended, but
// nothing disciplines it: after weeks the two differ by seconds, which is why times of "dmesg -T" are wrong. Therefore a stamp is not
// added to the time of the boot. What counts is how old it is when it is read, on CLOCK_MONOTONIC, less how far the stamps lag behind that
// clock: a message cannot be read before it was written, so the least age that was seen lately is that lag.
//
// A time is late by at most what the first reading took, which is milliseconds for /dev/kmsg and a period for syslog(2). The time between
// two messages that are read together is the kernel's own.
type clock struct {
	known      bool
	lag        time.Duration // the least age
	updateTime time.Duration // on CLOCK_MONOTONIC
}

// maxDrift is by how much the two clocks may drift apart: the kernel never adjusts CLOCK_MONOTONIC faster than this.
const maxDrift = 1.0 / 2000

// time returns when a message was written that was read now, which is so long since boot on CLOCK_MONOTONIC.
func (c *clock) time(stamp time.Duration, now time.Time, monotonic time.Duration) time.Time {
	age := monotonic - stamp
	grown := c.lag + time.Duration(float64(monotonic-c.updateTime)*maxDrift)
	if !c.known || age < grown {
		grown = age
	}
	c.known, c.lag, c.updateTime = true, grown, monotonic
	return now.Add(grown - age)
}
