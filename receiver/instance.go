// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
)

// instance is what the receivers of one configuration share. The factory notes their consumers, and the first start builds everything else, because
// only then all receivers are known. So nothing is opened to validate a configuration.
type instance struct {
	cfg     *Config
	set     receiver.Settings // of the receiver that was created first
	open    opener
	connect connector
	waits   waits
	gate    *consumerGate  // in front of the consumers
	metrics *metricsOutput // nil: there is no metrics receiver
	logs    *logsOutput    // nil: there is no logs receiver
	status  componentStatus

	stopping sync.Once // see stop

	mu      sync.Mutex
	begun   bool     // started or shut down
	sources *sources // what the first start has built: a part of it if that failed
	failed  error    // why no receiver can start
}

// start is called by each receiver. The first call builds the sources.
func (i *instance) start(ctx context.Context, host component.Host) (*sources, error) {
	i.status.reportTo(host)
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.begun {
		i.begun = true
		i.sources, i.failed = newSources(ctx, host, i)
	}
	return i.sources, i.failed
}

// stop ends the reads and the deliveries of all receivers. Only the first call does something.
func (i *instance) stop(ctx context.Context) (err error) {
	i.stopping.Do(func() {
		i.mu.Lock()
		i.begun, i.failed = true, errShut // nothing would end what starts now
		i.mu.Unlock()
		if i.sources != nil {
			err = i.sources.stop(ctx)
		}
	})
	return err
}

// Shutdown closes the sources after stop.
func (i *instance) Shutdown(context.Context) error {
	if i.sources == nil {
		return nil
	}
	return i.sources.closeInTime()
}

// signal is what a receiver sends.
type signal int

const (
	metricsSignal signal = iota
	logsSignal
	numSignals
)

// signalReceiver is the receiver of one signal.
type signalReceiver struct {
	instance *instance
	signal   signal
	release  component.ShutdownFunc // of the instance
	once     sync.Once
}

// Start implements component.Component. A machine without GPU or driver is no error.
func (r *signalReceiver) Start(ctx context.Context, host component.Host) error {
	sources, err := r.instance.start(ctx, host)
	if err != nil {
		return err
	}
	return sources.receivers[r.signal].start(ctx, host)
}

// Shutdown of the first receiver of a configuration ends the deliveries of all of them: see sources.stop. Shutdown of the last one releases
// the sources.
func (r *signalReceiver) Shutdown(ctx context.Context) (err error) {
	r.once.Do(func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(r.instance.stop(ctx), r.release(ctx))
	})
	return err
}
