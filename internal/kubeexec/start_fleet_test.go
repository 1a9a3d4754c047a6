// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// reported holds what Options.Problems received last, and the states that Options.State received without those that repeat, by cluster.
type reported struct {
	mu       sync.Mutex
	problems map[string][]gpu.Problem
	states   map[string][]*gpu.Failure
}

func newReported() *reported {
	return &reported{problems: map[string][]gpu.Problem{}, states: map[string][]*gpu.Failure{}}
}

func (p *reported) state(_ context.Context, cluster string, _ time.Time, failure *gpu.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := p.states[cluster]
	if len(states) > 0 {
		if last := states[len(states)-1]; last == nil && failure == nil || last != nil && failure != nil && last.Reason == failure.Reason {
			return
		}
	}
	p.states[cluster] = append(states, failure)
}

// changes returns the states of a cluster: "readable" or the number of the reason.
func (p *reported) changes(cluster string) []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []any
	for _, failure := range p.states[cluster] {
		if failure == nil {
			all = append(all, "readable")
		} else {
			all = append(all, failure.Reason)
		}
	}
	return all
}

func (p *reported) take(cluster string, problems []gpu.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems[cluster] = problems
}

func (p *reported) lines(cluster string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, problem := range p.problems[cluster] {
		b.WriteString(problem.What + ": " + problem.Err.Error() + "\n")
	}
	return b.String()
}

// start reads the clusters of a configuration several times a second.
func start(t *testing.T, config *Config) (*Fleet, *sunk, *reported) {
	t.Helper()
	return startEvery(t, config, 300*time.Millisecond)
}

func startEvery(t *testing.T, config *Config, interval time.Duration) (*Fleet, *sunk, *reported) {
	t.Helper()
	require.NoError(t, config.Check())
	s, p := newSunk(), newReported()
	f := startFleet(t, config, Options{
		Interval: interval, Timeout: time.Minute, Want: gpu.GroupAll, Sink: s.sink, Gone: s.leave, Problems: p.take, State: p.state,
	})
	return f, s, p
}

// startFleet starts a Fleet that has the time to close that a busy machine takes.
func startFleet(t *testing.T, config *Config, options Options) *Fleet {
	t.Helper()
	options.CloseWait = time.Minute
	f, err := New(config, options)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, f.Close())
		assert.NoError(t, f.Close(), "again")
	})
	f.Start()
	return f
}

func configOf(clusters ...ClusterConfig) *Config {
	config := DefaultConfig()
	config.Clusters = clusters
	return &config
}

func readTimes(t *testing.T, s *sunk, key string, more int) gpu.Node {
	t.Helper()
	before, _, _, _ := s.state(key)
	var node gpu.Node
	eventually(t, func() bool {
		good, _, n, _ := s.state(key)
		node = n
		return good >= before+more
	}, "no read of "+key)
	return node
}

// eventually waits for a condition that another goroutine fulfils.
func eventually(t *testing.T, condition func() bool, message string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond, message)
}
