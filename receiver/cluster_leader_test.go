// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// replica is one of several that read a cluster, with its metrics.
type replica struct {
	component.Component
	metrics *consumertest.MetricsSink
}

func newReplica(t *testing.T, client *fake.Clientset) *replica {
	t.Helper()
	cfg, err := loadMap(map[string]any{
		"collection_interval": "100ms", "initial_delay": "1ms", "timeout": "100ms",
		"scrapers": map[string]any{"kubernetes_cluster": map[string]any{"leader_election": map[string]any{"lease_namespace": "collectors"}}},
	})
	require.NoError(t, err)
	r := newRigOf(t, openSource)
	r.cfg = cfg
	r.factory.connect = func(*kube.Config) (*kube.Clients, error) { return &kube.Clients{Kubernetes: client}, nil }
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	return &replica{Component: m, metrics: r.metrics}
}

func (r *replica) requests() bool {
	for _, m := range r.metrics.AllMetrics() {
		for _, p := range otlptest.Points(m) {
			if p.Metric == "k8s.container.gpu.request" {
				return true
			}
		}
	}
	return false
}

// One of several replicas reads the cluster. When it ends, another one reads, and the reads of the first one have ended by then.
func TestLeaderElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(gpuPod("train-0", 2))
		first := newReplica(t, client)
		eventually(t, first.requests, "the only replica does not read")
		second := newReplica(t, client)
		before := first.metrics.DataPointCount()
		eventually(t, func() bool { return first.metrics.DataPointCount() > before }, "the leader does not go on")
		assert.Zero(t, second.metrics.DataPointCount(), "a follower says nothing")
		require.NoError(t, first.Shutdown(t.Context()))
		before = first.metrics.DataPointCount()
		eventually(t, second.requests, "the other replica does not take over")
		assert.Equal(t, before, first.metrics.DataPointCount())
		require.NoError(t, second.Shutdown(t.Context()))
	})
}

// A Lease that may not be written makes the cluster unreadable, and does not have all replicas read it.
func TestLeaderElectionMissingPermissions(t *testing.T) {
	client := fake.NewClientset(gpuPod("train-0", 2))
	client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "gpureceiver-cluster", nil)
	})
	r := newReplica(t, client)
	eventually(t, func() bool { return r.metrics.DataPointCount() > 0 }, "the failure is not reported")
	for _, m := range r.metrics.AllMetrics() {
		for _, p := range otlptest.Points(m) {
			assert.Contains(t, []string{"hw.gpu.source.readable", "hw.gpu.source.failure"}, p.Metric)
		}
	}
	require.NoError(t, r.Shutdown(t.Context()))
}

// A shutdown waits for the start of the reads, which a goroutine of client-go's makes.
func TestLeaderElectionEndsAtItsStart(t *testing.T) {
	starts, ending := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ending) })
	started := false // not synchronised: the race detector reports a stop that has not waited
	var reads atomic.Bool
	l := contend(fake.NewClientset(), &ClusterLeaderElection{LeaseNamespace: "collectors"}, func() {
		close(starts)
		<-ending
		reads.Store(true)
		started = true
	}, func() {
		reads.Store(false)
		end()
	})
	<-starts
	l.stop()
	assert.True(t, started, "stop has not waited")
	assert.False(t, reads.Load(), "nothing ends the reads")
}
