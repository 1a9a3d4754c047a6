// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
)

// controllers are what runs in the receiver of one signal: a controller of scraperhelper for each scraper, or what sends its events.
type controllers struct {
	all     []component.Component
	last    []func(context.Context) error // send what waits when all controllers have ended
	started int
}

func (c *controllers) start(ctx context.Context, host component.Host) error {
	for _, controller := range c.all {
		if err := controller.Start(ctx, host); err != nil {
			return err
		}
		c.started++
	}
	return nil
}

// end ends all controllers side by side.
func (c *controllers) end(ctx context.Context) error {
	errs := make([]error, c.started)
	var ending sync.WaitGroup
	for i, controller := range c.all[:c.started] {
		ending.Go(func() { errs[i] = controller.Shutdown(ctx) })
	}
	ending.Wait()
	return errors.Join(errs...)
}

// sendLast sends the events of the last reads, for which no further scrape will come.
func (c *controllers) sendLast(ctx context.Context) error {
	if c.started == 0 {
		return nil // nor has the consumer
	}
	var errs []error
	for _, send := range c.last {
		errs = append(errs, send(ctx))
	}
	return errors.Join(errs...)
}

// endBy runs f, waits for it until the deadline, but at least for a while, and reports whether f has ended by then.
func endBy(deadline time.Time, least time.Duration, f func() error) (err error, ended bool) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(max(time.Until(deadline), least))
	defer timer.Stop()
	select {
	case err := <-done:
		return err, true
	case <-timer.C:
		return nil, false
	}
}
