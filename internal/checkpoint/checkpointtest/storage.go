// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkpointtest is for tests: a storage in memory.
package checkpointtest

import (
	"bytes"
	"context"
	"maps"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
)

// Storage is a storage extension, and its client. The zero Storage is empty.
type Storage struct {
	component.StartFunc
	component.ShutdownFunc

	mu     sync.Mutex
	data   map[string][]byte
	err    error
	step   func()
	closed bool
}

var (
	_ storage.Extension = (*Storage)(nil)
	_ storage.Client    = (*Storage)(nil)
	_ storage.Walker    = (*Storage)(nil)
)

// Fail has writes fail from now on; nil: they succeed.
func (s *Storage) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Step has a function called before and after each operation. It may panic.
func (s *Storage) Step(step func()) { s.step = step }

// Copy returns a storage with what there is now, as a process finds it that starts after a kill.
func (s *Storage) Copy() *Storage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Storage{data: maps.Clone(s.data)}
}

// Keys returns the keys.
func (s *Storage) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.data))
	for key := range s.data {
		keys = append(keys, key)
	}
	return keys
}

// Closed reports whether the client was closed.
func (s *Storage) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// GetClient implements storage.Extension.
func (s *Storage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return s, nil
}

// Get implements storage.Client.
func (s *Storage) Get(ctx context.Context, key string) ([]byte, error) {
	op := storage.GetOperation(key)
	err := s.Batch(ctx, op)
	return op.Value, err
}

// Set implements storage.Client.
func (s *Storage) Set(ctx context.Context, key string, value []byte) error {
	return s.Batch(ctx, storage.SetOperation(key, value))
}

// Delete implements storage.Client.
func (s *Storage) Delete(ctx context.Context, key string) error {
	return s.Batch(ctx, storage.DeleteOperation(key))
}

// Batch implements storage.Client: all operations, or none.
func (s *Storage) Batch(_ context.Context, ops ...*storage.Operation) error {
	if s.step != nil {
		s.step()
		defer s.step()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range ops {
		if op.Type != storage.Get && s.err != nil {
			return s.err
		}
	}
	if s.data == nil {
		s.data = map[string][]byte{}
	}
	for _, op := range ops {
		switch op.Type {
		case storage.Get:
			op.Value = bytes.Clone(s.data[op.Key])
		case storage.Set:
			s.data[op.Key] = bytes.Clone(op.Value)
		case storage.Delete:
			delete(s.data, op.Key)
		}
	}
	return nil
}

// Walk implements storage.Walker.
func (s *Storage) Walk(ctx context.Context, visit storage.WalkFunc) error {
	var ops []*storage.Operation
	for key, value := range s.Copy().data {
		more, err := visit(key, value)
		if err != nil {
			return err
		}
		ops = append(ops, more...)
	}
	return s.Batch(ctx, ops...)
}

// Close implements storage.Client.
func (s *Storage) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
