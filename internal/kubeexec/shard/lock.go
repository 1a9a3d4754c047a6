// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseClient is the part of client-go's LeaseInterface that is used.
type LeaseClient interface {
	List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// callTime bounds a call, so that after a call that hangs another is possible before a Lease is lost.
const callTime = 3 * time.Second

// call returns a context for a call. A cancellation does not end it, so that the result of the call is known; a deadline does,
// and the end of the time at shutdown.
func (e *Election) call(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := callTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, deadline.Sub(e.now()))
	}
	e.mu.Lock()
	hurry := e.hurry
	e.mu.Unlock()
	return context.WithTimeout(hurry, limit)
}

// lock is the Lease of a shard. Unlike client-go's LeaseLock it does not read the Lease itself: all Leases are listed together.
// It acquires no more than this replica's part. It is used by one goroutine.
type lock struct {
	election *Election
	shard    int
	current  *coordinationv1.Lease // the next update changes it
	wrote    *coordinationv1.Lease // as the last successful write left it
	written  int                   // sequence number of the end of that write
}

var _ resourcelock.Interface = (*lock)(nil)

var errPart = errors.New("this replica already holds its share of the shards")

func (l *lock) name() string {
	o := &l.election.options
	return fmt.Sprintf("%s-shard-%d-of-%d", o.Name, l.shard, o.Shards)
}

// Get implements resourcelock.Interface.
func (l *lock) Get(context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	b := l.election.listed()
	switch {
	case l.wrote != nil && (b == nil || b.start < l.written):
		l.current = l.wrote
	case b == nil:
		return nil, nil, errors.New("the Leases could not be listed")
	case b.leases[l.name()] == nil:
		return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), l.name())
	default:
		l.current = b.leases[l.name()]
	}
	record = resourcelock.LeaseSpecToLeaderElectionRecord(&l.current.Spec)
	raw, err = json.Marshal(record)
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	o := &l.election.options
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: l.name(), Namespace: o.Namespace, Labels: o.labels(roleShard)},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	}
	return l.write(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return o.Leases.Create(ctx, lease, metav1.CreateOptions{})
	})
}

// Update implements resourcelock.Interface. A record without a holder releases the Lease; before that the reads end.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.current == nil {
		return errors.New("the Lease has not been read yet")
	}
	lease := l.current.DeepCopy()
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	update := func(ctx context.Context) (*coordinationv1.Lease, error) {
		return l.election.options.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if record.HolderIdentity != "" {
		return l.write(ctx, update)
	}
	l.election.lose(l.shard)
	ctx, cancel := l.election.call(ctx)
	defer cancel()
	released, err := update(ctx)
	return l.note(released, err)
}

// write acquires the Lease or renews it.
func (l *lock) write(ctx context.Context, do func(context.Context) (*coordinationv1.Lease, error)) error {
	may, takes := l.election.admit(l.shard)
	if !may {
		return errPart
	}
	start := l.election.now()
	ctx, cancel := l.election.call(ctx)
	defer cancel()
	lease, err := do(ctx)
	l.election.settle(l.shard, takes, start, err)
	return l.note(lease, err)
}

func (l *lock) note(lease *coordinationv1.Lease, err error) error {
	if err != nil {
		l.wrote = nil // another replica may have written since
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return err // another replica was faster
		}
		l.election.note("write a shard's", err)
		return err
	}
	l.current, l.wrote, l.written = lease, lease, l.election.next()
	l.election.note("write a shard's", nil)
	return nil
}

// RecordEvent implements resourcelock.Interface. There are no events.
func (*lock) RecordEvent(string) {}

// Identity implements resourcelock.Interface.
func (l *lock) Identity() string { return l.election.options.Identity }

// Describe implements resourcelock.Interface.
func (l *lock) Describe() string { return l.election.options.Namespace + "/" + l.name() }
