// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// closeWait bounds how long Close waits for what it has cancelled.
const closeWait = 1500 * time.Millisecond

// Sink takes what was read of one node's GPUs of one vendor. It is called by the goroutine that read the node, which holds one
// of the cluster's max_concurrent places until Sink returns; several calls are made at a time, but never two for one node.
// The node is valid until Sink returns. With readErr it tells only which one could not be read.
type Sink func(ctx context.Context, cluster string, node *gpu.Node, readErr error)

// Options is what a Fleet is to do beyond its configuration.
type Options struct {
	Interval time.Duration // each node is read once in it
	Timeout  time.Duration // bounds one read of one node
	Want     gpu.Group     // what need be read
	Sink     Sink
	// Gone tells that a node is not read any more, so that nothing need be kept of it. It is called after the last call of
	// Sink for the node. May be nil.
	Gone func(cluster, node string)
	// Problems takes all that cannot be read in a cluster at the time, apart from what Sink is told: again and again, at
	// least once in each interval, and from one goroutine for each cluster. May be nil.
	Problems func(cluster string, problems []gpu.Problem)
}

// Fleet reads the nodes of clusters.
type Fleet struct {
	clusters []*cluster

	mu      sync.Mutex
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New returns a Fleet. The configuration must be valid. It fails where a file that it names cannot be read; whether the
// API servers answer shows later.
func New(config *Config, options Options) (*Fleet, error) {
	if options.Gone == nil {
		options.Gone = func(string, string) {}
	}
	if options.Problems == nil {
		options.Problems = func(string, []gpu.Problem) {}
	}
	f := &Fleet{}
	var errs []error
	for i := range config.Clusters {
		c, err := newCluster(config, i, &options)
		if err != nil {
			errs = append(errs, fmt.Errorf("clusters::%d: %w", i, err))
			continue
		}
		f.clusters = append(f.clusters, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// Start begins to read. It returns at once. It is called once.
func (f *Fleet) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for _, c := range f.clusters {
		f.running.Go(func() { c.run(ctx) })
	}
}

// Close ends every read at once and waits a moment for what it has ended. It may be called without Start, and again. An
// error means that something did not end in time: a Sink that does not return.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel == nil {
		return nil
	}
	f.cancel()
	f.cancel = nil
	done := make(chan struct{})
	go func() {
		f.running.Wait()
		close(done)
	}()
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("kubeexec: reads that were cancelled have not ended within %s", closeWait)
	}
}

// Stats returns how the reading of each cluster goes.
func (f *Fleet) Stats() []ClusterStats {
	all := make([]ClusterStats, 0, len(f.clusters))
	for _, c := range f.clusters {
		all = append(all, c.stats())
	}
	return all
}
