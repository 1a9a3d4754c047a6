// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// closeWait is the usual Options.CloseWait.
const closeWait = 1500 * time.Millisecond

// Fleet reads the nodes of clusters.
type Fleet struct {
	clusters  []*cluster
	closeWait time.Duration

	mu      sync.Mutex
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// New returns a Fleet for a valid configuration. It fails if a file that the configuration names cannot be read, not if an API
// server does not answer.
func New(config *Config, options Options) (*Fleet, error) {
	if options.Gone == nil {
		options.Gone = func(context.Context, string, string, bool) {}
	}
	if options.Problems == nil {
		options.Problems = func(string, []gpu.Problem) {}
	}
	if options.State == nil {
		options.State = func(context.Context, string, time.Time, *gpu.Failure) {}
	}
	f := &Fleet{closeWait: cmp.Or(options.CloseWait, closeWait)}
	var errs []error
	for i := range config.Clusters {
		c, err := newCluster(config, i, &options)
		if err != nil {
			errs = append(errs, kube.Keyed(fmt.Sprintf("clusters::%d", i), err))
			continue
		}
		f.clusters = append(f.clusters, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return f, nil
}

// Start starts to read and returns immediately. It is called once.
func (f *Fleet) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for _, c := range f.clusters {
		f.running.Go(func() { c.run(ctx) })
	}
}

// Close cancels every read and waits a moment for their end. It may be called without Start, and more than once. An error means
// that a Sink has not returned in time.
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
	timer := time.NewTimer(f.closeWait)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return fmt.Errorf("kubernetes_exec: reads that were cancelled have not ended within %s", f.closeWait)
	}
}

// Stats returns the state of the reads of each cluster.
func (f *Fleet) Stats() []ClusterStats {
	all := make([]ClusterStats, 0, len(f.clusters))
	for _, c := range f.clusters {
		all = append(all, c.stats())
	}
	return all
}
