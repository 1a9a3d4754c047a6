// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/scraper/scraperhelper"
)

// timing is when to read. It is not the type that it is made of, whose Validate would name a key that there is not.
type timing scraperhelper.ControllerConfig

// controller is what the controllers of the Collector take.
func (t *timing) controller() *scraperhelper.ControllerConfig {
	return (*scraperhelper.ControllerConfig)(t)
}

// leastDuration is far below any that makes sense. A number without a unit is nanoseconds to the Collector: a timeout of 10 ns
// would fail every GPU, and an interval of 60 ns read without a pause.
const leastDuration = time.Millisecond

// wrongDurations tells what is wrong with the times of reads, by key.
func wrongDurations(c *timing) []error {
	var errs []error
	if c.CollectionInterval <= 0 {
		errs = append(errs, errors.New("collection_interval: must be above 0, such as 30s"))
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"collection_interval", c.CollectionInterval}, {"timeout", c.Timeout}, {"initial_delay", c.InitialDelay}} {
		if d.value > 0 && d.value < leastDuration {
			errs = append(errs, fmt.Errorf("%s: %s is too short; give it a unit, such as 30s", d.key, d.value))
		}
	}
	if c.InitialDelay < 0 {
		errs = append(errs, fmt.Errorf("initial_delay: must be 0 or more, got %s", c.InitialDelay))
	}
	if c.Timeout <= 0 {
		return append(errs, errors.New("timeout: must be above 0, it bounds each read of a source"))
	}
	if interval := c.CollectionInterval; interval >= leastDuration && c.Timeout > interval {
		errs = append(errs, fmt.Errorf("timeout: %s is longer than collection_interval, %s; reads would overlap: shorten the timeout or lengthen the interval",
			c.Timeout, interval))
	}
	return errs
}
