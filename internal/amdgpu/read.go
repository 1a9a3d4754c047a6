// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"errors"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// withoutDeadline bounds a read whose context has no deadline.
const withoutDeadline = 10 * time.Second

var errClosed = errors.New("amdgpu: the source is closed")

// Read reads every GPU in nine tenths of the time until the context's deadline. The rest is for handing the node on.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Err() != nil {
		return nil, errClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := withoutDeadline
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 10 * 9
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.closed, cancel)()

	node := &gpu.Node{Vendor: gpu.AMD, Time: s.now()}
	for _, r := range s.readers {
		r.queued = false
	}
	if err := s.scanner.scan(ctx); err != nil {
		return s.notRead(node, err)
	}
	s.reconcile()
	s.pool.Run(ctx, append(s.readJobs(node.Time), s.processJobs(ctx, node.Time)...)...)
	if s.misplaced() {
		// The driver was loaded again since the scan.
		if err := s.scanner.scan(ctx); err != nil {
			return s.notRead(node, err)
		}
		s.reconcile()
		s.pool.Run(ctx, s.readJobs(node.Time)...)
	}
	if err := s.fileLimit(); err != nil {
		return s.notRead(node, err)
	}
	s.fill(node)
	if s.closed.Err() != nil {
		return nil, errClosed
	}
	return node, nil
}

// Close frees what the source holds. It does not wait for what hangs.
func (s *Source) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutDown.Do(func() { s.pool.Close(func() {}) })
	return nil
}
