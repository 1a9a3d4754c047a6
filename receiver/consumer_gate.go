// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// consumerGate is in front of the next consumers of all receivers of a configuration. It drops empty messages, as most messages of logs are. Once
// closed it refuses all data: a read that was left behind at the shutdown may end after the consumers were shut down.
type consumerGate struct {
	closed context.Context // ends the context of each delivery, too: a consumer that waits for something returns
	cancel context.CancelFunc

	mu      sync.Mutex     // held to start a delivery, and to close
	passing sync.WaitGroup // deliveries that have begun
}

func newConsumerGate() *consumerGate {
	g := new(consumerGate)
	g.closed, g.cancel = context.WithCancel(context.Background())
	return g
}

// errShut refuses data. Logs stay in the storage then.
var errShut = errors.New("the receiver is shut down")

// close makes the gate refuse further deliveries, and cancels those that have begun.
func (g *consumerGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel()
}

// wait waits for the deliveries that had begun before the gate was closed.
func (g *consumerGate) wait() error {
	g.passing.Wait()
	return nil
}

// begin notes a delivery, unless the gate is closed.
func (g *consumerGate) begin() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Err() != nil {
		return errShut
	}
	g.passing.Add(1)
	return nil
}

// pass delivers, unless the gate is closed.
func (g *consumerGate) pass(ctx context.Context, deliver func(context.Context) error) error {
	if err := g.begin(); err != nil {
		return err
	}
	defer g.passing.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.closed, cancel)()
	return deliver(ctx)
}

func (g *consumerGate) metrics(next consumer.Metrics) (consumer.Metrics, error) {
	return consumer.NewMetrics(func(ctx context.Context, md pmetric.Metrics) error {
		if md.ResourceMetrics().Len() == 0 {
			return nil
		}
		return g.pass(ctx, func(ctx context.Context) error { return next.ConsumeMetrics(ctx, md) })
	}, consumer.WithCapabilities(next.Capabilities()))
}

func (g *consumerGate) logs(next consumer.Logs) (consumer.Logs, error) {
	return consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		if ld.ResourceLogs().Len() == 0 {
			return nil
		}
		return g.pass(ctx, func(ctx context.Context) error { return next.ConsumeLogs(ctx, ld) })
	}, consumer.WithCapabilities(next.Capabilities()))
}
