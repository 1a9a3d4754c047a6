// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard/shardtest"
)

// A cluster that was never readable is reported with the reason.
func TestClusterNeverReadable(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *exectest.Server)
		want  gpu.FailureReason
	}{
		"dead":         {func(s *exectest.Server) { s.Down = true }, gpu.FailureAPIUnreachable},
		"unauthorized": {func(s *exectest.Server) { s.Token = "another" }, gpu.FailureAPIUnauthorized},
		"forbidden": {func(s *exectest.Server) {
			s.Forbidden = map[string]bool{"/api/v1/namespaces/gpu-operator/pods": true}
		}, gpu.FailureAPIForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := exectest.NewServer(t)
			s.Set(func() { c.spoil(s) })
			f, _, got := start(t, configOf(clusterOf(s, "prod")))
			eventually(t, func() bool { return len(got.changes("prod")) > 0 }, "not reported")
			assert.Equal(t, []any{c.want}, got.changes("prod"))
			stats := f.Stats()[0]
			assert.True(t, stats.Known)
			require.NotNil(t, stats.Failure)
			require.ErrorContains(t, stats.Failure, "kubernetes_exec: cluster prod: kube: watch pods with app")
			assert.True(t, stats.LastGood.IsZero())
		})
	}
}

// An API server that is unreachable from the start is reported long before the interval is over.
func TestFirstReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _, _ := bare(1, 0)
		clients, err := kube.NewClients(&rest.Config{Host: "http://localhost", Transport: unreachable{}})
		require.NoError(t, err)
		pods, err := newDriverPods(clients.Kubernetes, &c.targets[0])
		require.NoError(t, err)
		c.targets, c.pods = c.targets[:1], []*kube.Informer{pods}
		c.nodes, err = newNodes(clients.Kubernetes, &Config{})
		require.NoError(t, err)
		c.interval = time.Hour
		got := newReported()
		c.problems, c.report = got.take, got.state
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.run(ctx)
		}()
		time.Sleep(firstReport + time.Second)
		assert.Equal(t, []any{gpu.FailureAPIUnreachable}, got.changes("c"))
		assert.Contains(t, got.lines("c"), "driver pods of target 0")
		cancel()
		<-ended
	})
}

// unreachable is an API server that does not answer.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// The state follows the API server, also if the cluster has no node to read.
func TestClusterStateChanges(t *testing.T) {
	s := exectest.NewServer(t)
	f, _, got := start(t, configOf(clusterOf(s, "prod")))
	eventually(t, func() bool { return len(got.changes("prod")) == 1 }, "not reported")
	s.Set(func() { s.Down = true })
	eventually(t, func() bool { return len(got.changes("prod")) == 2 }, "the outage is not reported")
	assert.False(t, f.Stats()[0].LastGood.IsZero())
	assert.Equal(t, []any{"readable", gpu.FailureAPIUnreachable}, got.changes("prod"))
}

// Lists that do not end count as a failure after a while, and only then.
func TestClusterNotListed(t *testing.T) {
	c, _, _, _ := bare(1, 0)
	clients, err := kube.NewClients(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	pods, err := newDriverPods(clients.Kubernetes, &c.targets[0])
	require.NoError(t, err)
	c.pods = []*kube.Informer{pods}
	var got []*gpu.Failure
	c.report = func(_ context.Context, _ string, _ time.Time, failure *gpu.Failure) { got = append(got, failure) }
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return now }
	start := now
	c.reportState(t.Context(), start, true)
	assert.Empty(t, got)
	assert.False(t, c.stats().Known)
	now = now.Add(listWait)
	c.reportState(t.Context(), start, false)
	require.Len(t, got, 1)
	assert.Equal(t, gpu.FailureAPIUnreachable, got[0].Reason)
	c.reportState(t.Context(), start, false)
	assert.Len(t, got, 1, "neither due nor another one")
	c.reportState(t.Context(), start, true)
	assert.Len(t, got, 2)
}

// Of replicas one reports that a cluster can be read. Leases that may not be written make it unreadable.
func TestClusterStateOfReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := shardtest.New()
		_, machines, _, _ := bare(1, 0)
		var all []*collector
		reports := make(map[*collector][]*gpu.Failure)
		for range 3 {
			r := collect(t, store, machines, 0)
			r.report = func(_ context.Context, _ string, _ time.Time, failure *gpu.Failure) {
				reports[r] = append(reports[r], failure)
			}
			all = append(all, r)
		}
		time.Sleep(10 * shard.RetryPeriod)
		good := 0
		for _, r := range all {
			r.reportState(t.Context(), time.Now(), true)
			for _, failure := range reports[r] {
				assert.Nil(t, failure)
				good++
			}
		}
		assert.Equal(t, 1, good)
		r := all[0]
		r.leases.Set(shardtest.Trouble{Fail: apierrors.NewForbidden(shardtest.Leases, "", nil)})
		time.Sleep(2 * shard.RetryPeriod)
		r.reportState(t.Context(), time.Now(), true)
		last := reports[r][len(reports[r])-1]
		require.NotNil(t, last)
		assert.Equal(t, gpu.FailureAPIForbidden, last.Reason)
		for _, r := range all {
			r.cancel()
			<-r.ended
		}
	})
}
