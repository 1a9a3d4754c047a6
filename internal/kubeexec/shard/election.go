// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package shard spreads the nodes of a cluster over the replicas of a collector. The nodes are divided into shards by a hash
// of their names. Each shard has a Lease in the cluster's API, and client-go's leader election lets one replica at a time hold it
// and read the shard. Each replica also renews a Lease of its own, by which the others count it, so that none takes more than
// its part.
//
// The files election, lock and replicas refer to each other because an Election runs the locks and the count of the replicas, and
// both decide by its state: which shards this replica holds, and how many it may hold.
package shard

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

// The times of an election, as in Kubernetes' own components.
const (
	// LeaseDuration is how long a Lease stays with a holder that does not renew it.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long a holder that cannot renew its Lease continues to read.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is the time between renewals of a Lease, and between the looks of the others at it.
	RetryPeriod = 2 * time.Second
)

// CloseWait bounds how long Run takes after its context has ended, without the time of Lost.
const CloseWait = 800 * time.Millisecond

// Options configure an Election.
type Options struct {
	Shards int
	// Name is the prefix of the names of the Leases, Namespace is their namespace. Replicas with the same number of shards, name and
	// namespace share the nodes.
	Name, Namespace string
	// Identity identifies the replica: see NewIdentity.
	Identity string
	Leases   LeaseClient
	// Changed is called when a shard was acquired or lost. It must not block.
	Changed func()
	// Lost is called when a shard was lost or is about to be released. It returns when the reads of the shard have ended; only
	// then the Lease is released.
	Lost func(shard int)
}

// Election holds some of the shards.
type Election struct {
	options Options
	now     func() time.Time
	hurry   context.Context // its end cuts every call short
	giving  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	closing  bool
	grants   []grant
	pending  int // Leases that are being acquired
	quota    int // the number of shards that are this replica's part
	replicas int // alive
	board    *leaseList
	sequence int // orders lists and writes
	members  map[string]member
	own      *coordinationv1.Lease // this replica's; nil if it is unknown
	failures map[string]error      // by the attempted call
}

// grant is the state of a shard for this replica.
type grant struct {
	active  bool
	leaving bool               // it is about to be released, and must not be acquired before
	renewed time.Time          // the start of the last successful renewal
	resign  context.CancelFunc // ends the candidacy
	ending  *sync.Mutex        // held while the reads are ended
}

// New returns an Election that holds no shard.
func New(options Options) *Election {
	e := &Election{
		options: options, now: time.Now, hurry: context.Background(), grants: make([]grant, options.Shards),
		members: make(map[string]member), failures: make(map[string]error),
	}
	for i := range e.grants {
		e.grants[i].ending = &sync.Mutex{}
	}
	return e
}

// Of returns the shard of a node.
func (e *Election) Of(node string) int { return shardOf(node, e.options.Shards) }

func shardOf(node string, shards int) int {
	sum := sha256.Sum256([]byte("shard\x00" + node)) // not the hash that sets the phase of the node in the interval
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(shards))
}

// Holds reports whether this replica reads a node. It does not when its Lease was not renewed for RenewDeadline, even before
// that was noticed, as after the process was stopped and continued.
func (e *Election) Holds(node string) bool {
	shard := e.Of(node)
	e.mu.Lock()
	defer e.mu.Unlock()
	g := &e.grants[shard]
	return g.active && e.now().Sub(g.renewed) < RenewDeadline
}

// Status is the state of an election for this replica.
type Status struct {
	Held     []int // shards, in order
	Replicas int   // alive, this one included
}

// Status returns the state of the election.
func (e *Election) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Status{Replicas: e.replicas}
	for i := range e.grants {
		if e.grants[i].active {
			s.Held = append(s.Held, i)
		}
	}
	return s
}

// Run takes part in the election until the context ends. Then it calls Lost, releases what it holds, and returns.
func (e *Election) Run(ctx context.Context) {
	hurry, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	e.mu.Lock()
	e.hurry = hurry
	e.mu.Unlock()

	var electing sync.WaitGroup
	for shard := range e.grants {
		electing.Go(func() { e.contend(ctx, shard) })
	}
	defer context.AfterFunc(ctx, func() {
		e.mu.Lock()
		e.closing = true
		e.mu.Unlock()
		pause(hurry, CloseWait)
		cancel()
	})()
	ticker := time.NewTicker(RetryPeriod)
	defer ticker.Stop()
	for ctx.Err() == nil {
		e.round(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	electing.Go(e.leave)
	electing.Wait()
	e.giving.Wait()
}

// contend takes part in the election for one shard: it acquires its Lease and renews it until the context ends.
func (e *Election) contend(ctx context.Context, shard int) {
	l := &lock{election: e, shard: shard}
	for ctx.Err() == nil {
		own, cancel := context.WithCancel(klog.NewContext(ctx, klog.Logger{})) // Err reports failures, so client-go need not log them
		e.begin(shard, cancel)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: l, Name: l.Describe(), LeaseDuration: LeaseDuration, RenewDeadline: RenewDeadline, RetryPeriod: RetryPeriod,
			ReleaseOnCancel: true,
			// A callback comes later; the lock knows immediately.
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
		if err != nil {
			cancel()
			e.note("take a shard's", err)
			return
		}
		elector.Run(own)
		cancel()
		e.lose(shard)
		pause(ctx, RetryPeriod)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (e *Election) begin(shard int, resign context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	g := &e.grants[shard]
	g.leaving, g.resign = false, resign
}

// give releases a shard: its reads end, then its Lease is released.
func (e *Election) give(shard int) {
	e.mu.Lock()
	g := &e.grants[shard]
	g.leaving = true
	resign := g.resign
	e.mu.Unlock()
	e.giving.Go(func() {
		e.lose(shard)
		resign()
	})
}

// lose ends the reads of a shard and returns when they have ended.
func (e *Election) lose(shard int) {
	e.grants[shard].ending.Lock()
	defer e.grants[shard].ending.Unlock()
	e.mu.Lock()
	active := e.grants[shard].active
	e.grants[shard].active = false
	e.mu.Unlock()
	if active {
		e.options.Lost(shard)
		e.options.Changed()
	}
}

// admit reports whether a shard's Lease may be written, and whether the write acquires it. settle must get the result.
func (e *Election) admit(shard int) (may, takes bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g := &e.grants[shard]; g.active || g.leaving {
		return true, false
	}
	if e.closing || e.holding()+e.pending >= e.quota {
		return false, false
	}
	e.pending++
	return true, true
}

// settle notes the result of a write of a shard's Lease.
func (e *Election) settle(shard int, takes bool, start time.Time, err error) {
	e.mu.Lock()
	g := &e.grants[shard]
	if takes {
		e.pending--
	}
	if err == nil {
		g.renewed = start
		g.active = g.active || takes
	}
	e.mu.Unlock()
	if takes && err == nil {
		e.options.Changed()
	}
}

// holding is the number of held shards, without those that are being released.
func (e *Election) holding() int {
	n := 0
	for i := range e.grants {
		if e.grants[i].active && !e.grants[i].leaving {
			n++
		}
	}
	return n
}
