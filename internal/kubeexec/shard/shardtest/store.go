// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package shardtest keeps Leases as an API server does: a write of what was changed since is refused. client-go's fake
// would take it.
package shardtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Store is the Leases of a namespace.
type Store struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease
}

// New returns a Store without Leases.
func New() *Store { return &Store{leases: map[string]*coordinationv1.Lease{}} }

// Names are the names of the Leases that have a label's value, in order.
func (s *Store) Names(label, value string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name, lease := range s.leases {
		if lease.Labels[label] == value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Holder is the holder of a Lease; empty if it is not held.
func (s *Store) Holder(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease := s.leases[name]; lease != nil {
		return *lease.Spec.HolderIdentity
	}
	return ""
}

func (s *Store) put(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.leases[lease.Name] = lease
	return lease.DeepCopy()
}

// Client is a replica's access to the store.
type Client struct {
	store *Store

	mu      sync.Mutex
	trouble Trouble
}

// Trouble is how calls are answered.
type Trouble struct {
	Fail error         // what every call is answered
	Hang bool          // no call is answered
	Slow time.Duration // how long an answer takes
}

// Client returns an access to the Leases.
func (s *Store) Client() *Client { return &Client{store: s} }

// Set sets how calls are answered from now on.
func (c *Client) Set(trouble Trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = trouble
}

func (c *Client) answer(ctx context.Context) error {
	c.mu.Lock()
	trouble := c.trouble
	c.mu.Unlock()
	if trouble.Hang {
		<-ctx.Done()
	}
	time.Sleep(trouble.Slow)
	return errors.Join(trouble.Fail, ctx.Err())
}

// Leases is the resource.
var Leases = coordinationv1.Resource("leases")

// List implements shard.LeaseClient.
func (c *Client) List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	if err := c.answer(ctx); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	list := &coordinationv1.LeaseList{}
	for _, name := range slices.Sorted(maps.Keys(c.store.leases)) {
		if lease := c.store.leases[name]; selector.Matches(labels.Set(lease.Labels)) {
			list.Items = append(list.Items, *lease.DeepCopy())
		}
	}
	return list, nil
}

// Create implements shard.LeaseClient.
func (c *Client) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := c.answer(ctx); err != nil {
		return &coordinationv1.Lease{}, err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if c.store.leases[lease.Name] != nil {
		return &coordinationv1.Lease{}, apierrors.NewAlreadyExists(Leases, lease.Name)
	}
	lease = lease.DeepCopy()
	lease.UID, lease.CreationTimestamp = types.UID(lease.Name+strconv.Itoa(c.store.version)), metav1.Now()
	return c.store.put(lease), nil
}

// Update implements shard.LeaseClient.
func (c *Client) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := c.answer(ctx); err != nil {
		return &coordinationv1.Lease{}, err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	switch now := c.store.leases[lease.Name]; {
	case now == nil:
		return &coordinationv1.Lease{}, apierrors.NewNotFound(Leases, lease.Name)
	case now.ResourceVersion != lease.ResourceVersion:
		return &coordinationv1.Lease{}, apierrors.NewConflict(Leases, lease.Name, errors.New("changed since"))
	}
	return c.store.put(lease), nil
}

// Delete implements shard.LeaseClient.
func (c *Client) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	if err := c.answer(ctx); err != nil {
		return err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	now := c.store.leases[name]
	if now == nil {
		return apierrors.NewNotFound(Leases, name)
	}
	if only := options.Preconditions; only != nil && (*only.UID != now.UID || *only.ResourceVersion != now.ResourceVersion) {
		return apierrors.NewConflict(Leases, name, errors.New("changed since"))
	}
	delete(c.store.leases, name)
	return nil
}
