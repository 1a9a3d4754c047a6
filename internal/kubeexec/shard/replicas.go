// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The labels of the Leases, by which they are listed.
const (
	labelElection = "gpureceiver/election"
	labelRole     = "gpureceiver/role"
	roleShard     = "shard"
	roleReplica   = "replica"
)

const (
	// forgetAfter is the time after its last renewal when the Lease of a replica that has ended is deleted.
	forgetAfter = 4 * LeaseDuration
	// maxForgotten bounds the Leases that one round deletes.
	maxForgotten = 10
	// maxListed bounds the listed Leases: of shards, of replicas, and of replicas that have ended.
	maxListed = 1000
)

// labels are the labels of a Lease. Replicas with another number of shards belong to another election.
func (o *Options) labels(role string) map[string]string {
	return map[string]string{labelElection: o.Name + "-of-" + strconv.Itoa(o.Shards), labelRole: role}
}

// maxHost bounds the host's name in an identity.
const maxHost = 63

// NewIdentity returns an identity that no other replica has, not even an earlier one with the same host name.
func NewIdentity(host string) string {
	host = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, host), "-")
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	suffix := hex.EncodeToString(b[:])
	if host == "" {
		return suffix
	}
	return strings.TrimRight(host[:min(len(host), maxHost)], "-") + "-" + suffix
}

// leaseList is the result of a list.
type leaseList struct {
	start  int // sequence number of the beginning of the list
	leases map[string]*coordinationv1.Lease
}

// member is a replica as its Lease shows it.
type member struct {
	version string
	changed time.Time // when its present content was first seen: clocks of different machines are not compared
}

func (e *Election) listed() *leaseList {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.board
}

// round renews this replica's own Lease, counts the others, and releases the shards above its part.
func (e *Election) round(ctx context.Context) {
	e.note("renew this replica's", e.renewOwn(ctx))
	b, err := e.list(ctx)
	e.note("list the", err)
	e.mu.Lock()
	e.board = b
	if err != nil {
		e.mu.Unlock()
		return // nothing is acquired or released without a list
	}
	alive, dead := e.count(b)
	e.replicas = len(alive)
	e.quota = quotas(len(e.grants), alive)[e.options.Identity]
	above := e.holding() - e.quota
	e.mu.Unlock()
	for shard := len(e.grants) - 1; shard >= 0 && above > 0; shard-- {
		if e.holdsShard(shard) {
			e.give(shard)
			above--
		}
	}
	e.deleteEnded(ctx, dead)
}

func (e *Election) holdsShard(shard int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.grants[shard].active && !e.grants[shard].leaving
}

// renewOwn renews the Lease of this replica, or creates it.
func (e *Election) renewOwn(ctx context.Context) error {
	o := &e.options
	ctx, cancel := e.call(ctx)
	defer cancel()
	now := metav1.NewMicroTime(e.now())
	if e.own == nil { // after a failure, too: it may have been written, or deleted as the Lease of a replica that has ended
		if b := e.listed(); b != nil {
			e.own = b.leases[o.replica()]
		}
	}
	var err error
	if e.own == nil {
		duration := int32(LeaseDuration / time.Second)
		e.own, err = o.Leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: o.replica(), Namespace: o.Namespace, Labels: o.labels(roleReplica)},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &o.Identity, LeaseDurationSeconds: &duration, AcquireTime: &now, RenewTime: &now,
			},
		}, metav1.CreateOptions{})
	} else {
		lease := e.own.DeepCopy()
		lease.Spec.RenewTime = &now
		e.own, err = o.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		e.own = nil
	}
	return err
}

func (o *Options) replica() string { return o.Name + "-replica-" + o.Identity }

// next returns the next sequence number.
func (e *Election) next() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sequence++
	return e.sequence
}

func (e *Election) list(ctx context.Context) (*leaseList, error) {
	ctx, cancel := e.call(ctx)
	defer cancel()
	b := &leaseList{start: e.next(), leases: make(map[string]*coordinationv1.Lease)}
	list, err := e.options.Leases.List(ctx, metav1.ListOptions{
		LabelSelector: labelElection + "=" + e.options.labels("")[labelElection], Limit: maxListed,
	})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		b.leases[list.Items[i].Name] = &list.Items[i]
	}
	return b, nil
}

// replica is a replica that is alive.
type replica struct {
	identity string
	holds    int
	since    time.Time
}

// count returns the replicas that are alive, and the Leases of those that have ended.
func (e *Election) count(b *leaseList) (alive []replica, dead []*coordinationv1.Lease) {
	now := e.now()
	holds := make(map[string]int)
	members := make(map[string]member)
	for name, lease := range b.leases {
		if lease.Labels[labelRole] == roleShard && lease.Spec.HolderIdentity != nil {
			holds[*lease.Spec.HolderIdentity]++
		}
		if lease.Labels[labelRole] != roleReplica {
			continue
		}
		m, known := e.members[name]
		if !known || m.version != lease.ResourceVersion {
			m = member{lease.ResourceVersion, now}
		}
		members[name] = m
	}
	e.members = members
	for name, m := range members {
		lease := b.leases[name]
		switch age := now.Sub(m.changed); {
		case age >= forgetAfter:
			dead = append(dead, lease)
		case age < LeaseDuration && lease.Spec.HolderIdentity != nil:
			identity := *lease.Spec.HolderIdentity
			alive = append(alive, replica{identity, holds[identity], lease.CreationTimestamp.Time})
		}
	}
	return alive, dead
}

// quotas returns the number of shards that are each replica's part. The numbers differ by one at most; the larger ones go to the
// replicas that hold the most, then to the oldest. All replicas compute the same.
func quotas(shards int, alive []replica) map[string]int {
	slices.SortFunc(alive, func(a, b replica) int {
		return cmp.Or(cmp.Compare(b.holds, a.holds), a.since.Compare(b.since), strings.Compare(a.identity, b.identity))
	})
	parts := make(map[string]int, len(alive))
	for i, r := range alive {
		parts[r.identity] = shards / len(alive)
		if i < shards%len(alive) {
			parts[r.identity]++
		}
	}
	return parts
}

// deleteEnded deletes the Leases of replicas that have ended. Every replica tries; one is the first.
func (e *Election) deleteEnded(ctx context.Context, dead []*coordinationv1.Lease) {
	for _, lease := range dead[:min(len(dead), maxForgotten)] {
		e.remove(ctx, lease.Name, &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	}
}

// leave deletes the Lease of this replica, so that the others need not wait until it expires.
func (e *Election) leave() { e.remove(context.Background(), e.options.replica(), nil) }

func (e *Election) remove(ctx context.Context, name string, only *metav1.Preconditions) {
	ctx, cancel := e.call(ctx)
	defer cancel()
	err := e.options.Leases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: only})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		err = nil
	}
	e.note("delete a replica's", err)
}

// note keeps the error of a call until the call succeeds.
func (e *Election) note(operation string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		delete(e.failures, operation)
		return
	}
	e.failures[operation] = err
}

// Err returns why Leases cannot be read or written; nil if they can.
func (e *Election) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, operation := range slices.Sorted(maps.Keys(e.failures)) {
		errs = append(errs, fmt.Errorf("%s Lease in namespace %s: %w", operation, e.options.Namespace, e.failures[operation]))
	}
	err := errors.Join(errs...)
	for _, cause := range e.failures {
		if apierrors.IsForbidden(cause) {
			return fmt.Errorf("%w; grant list, create, update and delete on leases of coordination.k8s.io in this namespace", err)
		}
	}
	return err
}
