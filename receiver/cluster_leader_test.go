// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// replica is one of several that read a cluster, with its metrics.
type replica struct {
	component.Component
	metrics consumertest.MetricsSink
}

func newReplica(t *testing.T, client *fake.Clientset) *replica {
	t.Helper()
	cfg, err := loadMap(map[string]any{
		"collection_interval": "20ms", "initial_delay": "1ms", "timeout": "20ms",
		"scrapers": map[string]any{"kubernetes_cluster": map[string]any{"leader_election": map[string]any{"lease_namespace": "collectors"}}},
	})
	require.NoError(t, err)
	r := &replica{}
	r.Component, err = newClusterController(cfg, receivertest.NewNopSettings(metadata.Type), &r.metrics, func(*ClusterConfig) (*kube.Clients, error) {
		return &kube.Clients{Kubernetes: client}, nil
	}, clusterOf(cfg))
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), componenttest.NewNopHost()))
	return r
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
		sent := first.metrics.DataPointCount()
		eventually(t, func() bool { return first.metrics.DataPointCount() > sent }, "the leader does not go on")
		assert.Zero(t, second.metrics.DataPointCount(), "a follower says nothing")
		require.NoError(t, first.Shutdown(t.Context()))
		sent = first.metrics.DataPointCount()
		eventually(t, second.requests, "the other replica does not take over")
		assert.Equal(t, sent, first.metrics.DataPointCount())
		require.NoError(t, second.Shutdown(t.Context()))
	})
}

// A Lease that may not be written makes the cluster unreadable, and does not have all replicas read it.
func TestLeaderElectionWithoutRights(t *testing.T) {
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

// deadlines is a Lease that notes the bound of the last request.
type deadlines struct {
	resourcelock.Interface
	left time.Duration
}

func (d *deadlines) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	deadline, _ := ctx.Deadline()
	d.left = time.Until(deadline)
	return &resourcelock.LeaderElectionRecord{}, nil, nil
}

func (d *deadlines) Update(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	_, _, err := d.Get(ctx)
	return err
}

// The requests that release the Lease take less time than a shutdown has, also where the API server does not answer.
func TestLeaseIsReleasedInTime(t *testing.T) {
	l := &leadership{cancel: func() {}, ended: func() {}}
	requests := &deadlines{}
	lock := &watchedLock{Interface: requests, leadership: l}
	l.stop()
	_, _, err := lock.Get(t.Context())
	require.NoError(t, err)
	read := requests.left
	require.NoError(t, lock.Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	assert.Less(t, read+requests.left, defaultWaits().read)
}

// silentLease is a Lease that its holder writes, each time as slowly as may be, until the API server does not answer any more.
type silentLease struct {
	mu      sync.Mutex
	silent  bool
	record  *resourcelock.LeaderElectionRecord
	written time.Time
}

// state returns the record, when it was written, and whether the API server answers.
func (s *silentLease) state() (record *resourcelock.LeaderElectionRecord, written time.Time, answers bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record, s.written, !s.silent
}

func (s *silentLease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, _, answers := s.state()
	if !answers {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	if record == nil {
		return nil, nil, errors.NewNotFound(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "gpureceiver-cluster")
	}
	return record, nil, nil
}

func (s *silentLease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, record)
}

func (s *silentLease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if _, _, answers := s.state(); !answers {
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	s.record, s.written = &record, time.Now()
	s.mu.Unlock()
	time.Sleep(leaseCall - time.Millisecond) // until the answer is here
	return nil
}

func (s *silentLease) RecordEvent(string) {}
func (s *silentLease) Identity() string   { return "first" }
func (s *silentLease) Describe() string   { return "collectors/gpureceiver-cluster" }

// A replica that cannot renew its Lease has ended its reads when another may take the Lease.
func TestReadsEndBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := &silentLease{}
		var reads atomic.Bool
		l := contendFor(lease, func() { reads.Store(true) }, func() { reads.Store(false) })
		time.Sleep(time.Minute)
		require.True(t, reads.Load())
		_, before, _ := lease.state()
		last := before
		for last.Equal(before) {
			time.Sleep(time.Millisecond)
			_, last, _ = lease.state()
		}
		lease.mu.Lock()
		lease.silent = true
		lease.mu.Unlock()
		time.Sleep(time.Until(last.Add(shard.LeaseDuration)) - time.Millisecond)
		assert.False(t, reads.Load())
		l.stop()
	})
}

func TestLeaderElectionIsChecked(t *testing.T) {
	for _, c := range []struct {
		election any
		want     string
	}{
		{nil, "leader_election::lease_namespace: must be set"}, // a section without a value is on
		{map[string]any{}, "leader_election::lease_namespace: must be set"},
		{map[string]any{"lease_namespace": "x/y"}, `leader_election::lease_namespace: "x/y" is not the name`},
		{map[string]any{"lease_namespace": "x", "lease_name": "A b"}, `leader_election::lease_name: "A b" is not the name of a Lease`},
	} {
		_, err := loadMap(map[string]any{"scrapers": map[string]any{"kubernetes_cluster": map[string]any{"leader_election": c.election}}})
		require.ErrorContains(t, err, "scrapers::kubernetes_cluster::"+c.want)
	}
}
