// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

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

// stop ends the leadership and releases the Lease. When it returns, led is not called any more. A nil leadership has none.
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
	hint := "no replica reads the cluster until one has the Lease"
	if apierrors.IsForbidden(l.failure) {
		hint = "grant get, create and update on leases.coordination.k8s.io in its namespace; " + hint
	}
	return fmt.Errorf("kubernetes_cluster: get or renew the Lease of the leader: %w; %s", l.failure, hint)
}
