// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
)

// eventSender sends or stores the events of a pipeline when there are some. No read waits for it.
type eventSender struct {
	found <-chan struct{}             // of the pipeline
	send  func(context.Context) error // what waits; one goroutine at a time may call it
	stop  chan struct{}
	ended chan struct{}
}

func newEventSender(found <-chan struct{}, send func(context.Context) error) *eventSender {
	return &eventSender{found: found, send: send, stop: make(chan struct{}), ended: make(chan struct{})}
}

// Start implements component.Component.
func (s *eventSender) Start(ctx context.Context, _ component.Host) error {
	go s.run(context.WithoutCancel(ctx))
	return nil
}

func (s *eventSender) run(ctx context.Context) {
	defer close(s.ended)
	for {
		select {
		case <-s.stop:
			return
		case <-s.found:
			_ = s.send(ctx) // the receiver's own metrics count the error
		}
	}
}

// Shutdown implements component.Component. It waits for the message that is being sent.
func (s *eventSender) Shutdown(context.Context) error {
	close(s.stop)
	<-s.ended
	return nil
}
