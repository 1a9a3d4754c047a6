// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/scraper/scraperhelper"
)

// timing has the settings of scraperhelper.ControllerConfig without its Validate, whose errors would name a key that does not
// exist, controllerconfig.
type timing scraperhelper.ControllerConfig

// minDuration is far below any useful value. The Collector takes a number without a unit as nanoseconds: a timeout of 10 ns
// would fail every read, and an interval of 60 ns would read without a pause.
const minDuration = time.Millisecond

// minReadTime is the shortest interval and the shortest timeout. The driver of an H200 takes 16 ms for a read of one GPU, 53 ms if NVML is opened
// for it. Calls of a healthy GPU must not seem to hang because a read was not given the time.
const minReadTime = 100 * time.Millisecond

// maxDelay is the longest useful initial_delay. A longer one is mistaken for nanoseconds or another unit.
const maxDelay = 24 * time.Hour

// check returns what is wrong with the times of reads, by key.
func (c *timing) check() []error {
	var errs []error
	if c.CollectionInterval <= 0 {
		errs = append(errs, errors.New("collection_interval: must be above 0, such as 30s"))
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"collection_interval", c.CollectionInterval}, {"timeout", c.Timeout}, {"initial_delay", c.InitialDelay}} {
		switch {
		case d.value <= 0:
		case d.key == "timeout" && d.value == c.CollectionInterval: // a timeout that is not configured is not above the interval
		case d.value < minDuration:
			errs = append(errs, fmt.Errorf("%s: %s is too short; give it a unit, such as 30s", d.key, d.value))
		case d.value < minReadTime && d.key != "initial_delay":
			errs = append(errs, fmt.Errorf("%s: %s is too short: a driver cannot always answer a read in that time; set %s or more", d.key, d.value, minReadTime))
		}
	}
	if c.InitialDelay < 0 {
		errs = append(errs, fmt.Errorf("initial_delay: must be 0 or more, got %s", c.InitialDelay))
	}
	if c.InitialDelay > maxDelay {
		errs = append(errs, fmt.Errorf("initial_delay: %s is longer than a day, and nothing would be read until then; check the unit", c.InitialDelay))
	}
	if c.Timeout <= 0 {
		return append(errs, errors.New("timeout: must be above 0; it limits each read of a source"))
	}
	if interval := c.CollectionInterval; interval >= minDuration && c.Timeout > interval {
		errs = append(errs, fmt.Errorf("timeout: %s is longer than collection_interval, %s; reads would overlap: shorten the timeout or lengthen the interval",
			c.Timeout, interval))
	}
	return errs
}
