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
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

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

// The requests that release the Lease take less time than a shutdown has, also if the API server does not answer.
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
