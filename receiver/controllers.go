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

// shutdownWait bounds how long Shutdown waits for reads that do not end although they were cancelled.
const shutdownWait = 1500 * time.Millisecond

// controllers is the receiver of one signal: one scraperhelper controller for each scraper, and what they share.
type controllers struct {
	shared  *shared
	logger  *zap.Logger
	all     []component.Component
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
// the driver: so the reads are cancelled first, and waited for no longer than shutdownWait.
func (c *controllers) Shutdown(ctx context.Context) error {
	var err error
	c.once.Do(func() { err = c.shutdown(ctx) })
	return err
}

func (c *controllers) shutdown(ctx context.Context) error {
	c.shared.cancel()
	done := make(chan error, len(c.all))
	for _, controller := range c.all[:c.started] {
		go func() { done <- controller.Shutdown(ctx) }()
	}
	timer := time.NewTimer(shutdownWait)
	defer timer.Stop()
	var errs []error
	for range c.started {
		select {
		case err := <-done:
			errs = append(errs, err)
		case <-timer.C:
			c.logger.Warn("A read hangs in the driver and is left behind")
			return errors.Join(append(errs, c.shared.release())...)
		}
	}
	return errors.Join(append(errs, c.shared.release())...)
}
