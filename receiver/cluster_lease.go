// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

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
