// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// leadership is a replica's part in an election. It has led started while the replica holds the Lease, and ended before that is over.
type leadership struct {
	led, ended func()
	cancel     context.CancelFunc
	electing   sync.WaitGroup
	stopping   atomic.Bool
	starting   sync.Mutex // held by start: client-go does not wait for it

	mu      sync.Mutex
	failure error // of the last request for the Lease
}

// contend takes part in the election until stop is called.
func contend(client kubernetes.Interface, e *ClusterLeaderElection, led, ended func()) *leadership {
	host, _ := os.Hostname() // an identity works without
	return contendFor(&resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: e.LeaseNamespace, Name: e.name()}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: shard.NewIdentity(host)},
	}, led, ended)
}

func contendFor(lease resourcelock.Interface, led, ended func()) *leadership {
	l := &leadership{led: led, ended: ended}
	lock := &watchedLock{leadership: l, Interface: lease}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(klog.NewContext(context.Background(), klog.Logger{})) // err reports failures, so client-go need not log them
	l.electing.Go(func() {
		for ctx.Err() == nil {
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: lock, Name: lock.Describe(), LeaseDuration: shard.LeaseDuration, RenewDeadline: leaseRenewal, RetryPeriod: shard.RetryPeriod,
				ReleaseOnCancel: true,
				Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: l.start, OnStoppedLeading: ended},
			})
			if err != nil {
				l.note(err)
				return
			}
			elector.Run(ctx)
		}
	})
	return l
}

// start is called, by a goroutine of its own, after the Lease was acquired. The context ends with the leadership.
func (l *leadership) start(ctx context.Context) {
	l.starting.Lock()
	defer l.starting.Unlock()
	if ctx.Err() == nil {
		l.led()
	}
	if ctx.Err() != nil { // it ended meanwhile
		l.ended()
	}
}

// stop ends the leadership and releases the Lease. When it returns, led is not called any more. A nil leadership does nothing.
func (l *leadership) stop() {
	if l == nil {
		return
	}
	l.stopping.Store(true)
	l.cancel()
	l.electing.Wait()
	l.starting.Lock()
	defer l.starting.Unlock()
}

func (l *leadership) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

// err returns why the Lease could not be read or written lately; nil if it could.
func (l *leadership) err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		return nil
	}
	hint := "no replica reads the cluster until one holds the Lease"
	if apierrors.IsForbidden(l.failure) {
		hint = "grant get, create and update on leases.coordination.k8s.io in its namespace; " + hint
	}
	return fmt.Errorf("kubernetes_cluster: get or renew the Lease of the leader: %w; %s", l.failure, hint)
}

const (
	// leaseCall bounds a request for the Lease, and leaseRelease each of the last two, which release it and for which a shutdown waits.
	leaseCall    = 2 * time.Second
	leaseRelease = 500 * time.Millisecond
	// leaseRenewal is how long renewals may fail before the reads end. With a last renewal that took leaseCall, the pause after it and the request before
	// the release that is less than shard.LeaseDuration, after which another replica takes the Lease.
	leaseRenewal = 8 * time.Second
)

// watchedLock is a Lease whose requests are bounded and whose failures are noted. The reads end before it is released.
type watchedLock struct {
	resourcelock.Interface
	leadership *leadership
}

// Get implements resourcelock.Interface.
func (w *watchedLock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	limit := leaseCall
	if w.leadership.stopping.Load() {
		limit = leaseRelease
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	record, raw, err = w.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		w.leadership.note(nil)
		return record, raw, err
	}
	w.leadership.note(err)
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (w *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	ctx, cancel := context.WithTimeout(ctx, leaseCall)
	defer cancel()
	return w.wrote(w.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (w *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	limit := leaseCall
	if record.HolderIdentity == "" {
		w.leadership.ended()
		limit = leaseRelease
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.wrote(w.Interface.Update(ctx, record))
}

func (w *watchedLock) wrote(err error) error {
	if err == nil || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) { // otherwise another replica was faster
		w.leadership.note(err)
	}
	return err
}
