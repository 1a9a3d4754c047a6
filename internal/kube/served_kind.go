// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// servedKind watches the objects of a kind, in the version in which the API server serves it. A kind that is not served yet is looked up again.
type servedKind struct {
	resource schema.GroupResource
	unknown  string // what is unknown until the kind was looked up, for messages
	resolve  resolveFunc
	informer func(*meta.RESTMapping) (*Informer, error)
	retry    time.Duration

	mu       sync.RWMutex
	kind     schema.GroupKind // of running
	running  *Informer        // nil until the kind was looked up
	failure  error            // of the last lookup
	lookedUp bool             // the first lookup has ended
}

func newServed(clients *Clients, resource schema.GroupResource, unknown string, informer func(*meta.RESTMapping) (*Informer, error)) *servedKind {
	return &servedKind{resource: resource, unknown: unknown, resolve: resolver(clients), informer: informer, retry: time.Minute}
}

// Run watches until the context ends.
func (s *servedKind) Run(ctx context.Context) {
	for {
		informer, err := s.lookUp(ctx)
		if err == nil {
			informer.RunWithContext(ctx)
			return
		}
		timer := time.NewTimer(s.retry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (s *servedKind) lookUp(ctx context.Context) (informer *Informer, err error) {
	mapping, err := s.resolve(ctx, s.resource)
	if err != nil {
		err = fmt.Errorf("kube: look up the kind %s: %w%s", s.resource, err, s.unknown)
	} else {
		informer, err = s.informer(mapping)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure, s.lookedUp = err, true
	if err == nil {
		s.kind, s.running = mapping.GroupVersionKind.GroupKind(), informer
	}
	return informer, err
}

// current returns the informer; nil until the kind was looked up.
func (s *servedKind) current() *Informer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.running
}

// Synced reports whether the first list has been read.
func (s *servedKind) Synced() bool {
	informer := s.current()
	return informer != nil && informer.HasSynced()
}

// Err returns why the objects could not be read lately; nil if they could.
func (s *servedKind) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.running == nil {
		return s.failure
	}
	return s.running.Err()
}
