// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"
)

// What does not end although it was cancelled is left behind: a read that hangs in the driver after readWait, a driver that
// cannot be released after shutdownWait, both counted from the shutdown of the first of the receivers that share them. The
// rest of them are given leastWait.
const (
	readWait     = 1300 * time.Millisecond
	shutdownWait = 1800 * time.Millisecond
	leastWait    = 50 * time.Millisecond
)

// controllers is the receiver of one signal: one scraperhelper controller for each scraper, and what they share.
type controllers struct {
	shared  *shared
	logger  *zap.Logger
	gate    gate
	all     []component.Component
	last    []func(context.Context) error // what is still to be sent when all have ended
	started int
	once    sync.Once
}

// Start starts the controllers. A machine without GPU or driver is no error.
func (c *controllers) Start(ctx context.Context, host component.Host) error {
	if err := c.shared.start(ctx, host); err != nil {
		return err
	}
	for _, controller := range c.all {
		if err := controller.Start(ctx, host); err != nil {
			return err
		}
		c.started++
	}
	return nil
}

// Shutdown cancels what runs. scraperhelper waits for the running scrape without cancelling it, and a scrape may hang in
// the driver: so the reads are cancelled first, and waited for no longer than readWait.
func (c *controllers) Shutdown(ctx context.Context) error {
	var err error
	c.once.Do(func() { err = c.shutdown(context.WithoutCancel(ctx)) })
	return err
}

func (c *controllers) shutdown(ctx context.Context) error {
	began := c.shared.stop()
	err, ended := endBy(began.Add(readWait), func() error { return errors.Join(c.end(ctx), c.sendLast(ctx)) })
	if !ended {
		c.gate.shut.Store(true)
		c.logger.Warn("A read does not end and is left behind; the driver may be stuck")
	}
	if !c.shared.leave() {
		return err
	}
	closeErr, ended := endBy(began.Add(shutdownWait), c.shared.close)
	if !ended {
		c.logger.Warn("The driver cannot be released and is left as it is; a call into it may be stuck")
	}
	return errors.Join(err, closeErr)
}

// end ends all controllers at the same time.
func (c *controllers) end(ctx context.Context) error {
	errs := make([]error, c.started)
	var ending sync.WaitGroup
	for i, controller := range c.all[:c.started] {
		ending.Go(func() { errs[i] = controller.Shutdown(ctx) })
	}
	ending.Wait()
	return errors.Join(errs...)
}

// sendLast sends the events of the last reads, which wait for a tick that does not come any more.
func (c *controllers) sendLast(ctx context.Context) error {
	if c.started == 0 {
		return nil // nor has what is behind it
	}
	var errs []error
	for _, send := range c.last {
		errs = append(errs, send(ctx))
	}
	return errors.Join(errs...)
}

// endBy runs f and waits for it until the deadline; it tells whether f ended by then.
func endBy(deadline time.Time, f func() error) (err error, ended bool) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(max(time.Until(deadline), leastWait))
	defer timer.Stop()
	select {
	case err := <-done:
		return err, true
	case <-timer.C:
		return nil, false
	}
}
