// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// withoutDeadline bounds a read whose context has no deadline.
const withoutDeadline = 10 * time.Second

var errClosed = errors.New("amdgpu: the source is closed")

// Read reads every GPU within the context's deadline, a tenth of which is left to hand the node on.
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
		r.asked = false
	}
	if err := s.scan(ctx, node); err != nil {
		return nil, err
	}
	s.reconcile()
	s.pool.Run(ctx, append(s.readJobs(node.Time), s.processJobs(ctx, node.Time)...)...)
	if s.misplaced() {
		// The driver was loaded again since the scan.
		if err := s.scan(ctx, node); err != nil {
			return nil, err
		}
		s.reconcile()
		s.pool.Run(ctx, s.readJobs(node.Time)...)
	}
	if err := s.fileLimit(); err != nil {
		return nil, err
	}
	s.fill(node)
	if s.closed.Err() != nil {
		return nil, errClosed
	}
	return node, nil
}

// scan looks for GPUs. Where that does not end in time, those of the last scan are taken.
func (s *Source) scan(ctx context.Context, node *gpu.Node) error {
	c := &s.scanner
	s.pool.Run(ctx, workers.Job{Task: c.task, Func: func() { c.result, c.err = scan.Scan(s.cfg.RootPath) }})
	switch {
	case c.task.Outcome() == workers.Done && c.err != nil:
		return c.err
	case c.task.Outcome() == workers.Done:
		c.last = c.result
	case c.last == nil:
		return fmt.Errorf("amdgpu: %s: nothing could be read in time", filepath.Join(s.cfg.RootPath, "sys"))
	default:
		node.Problems = append(node.Problems, gpu.Problem{
			What: "inventory", Err: errors.New("amdgpu: the scan for GPUs did not end in time; the GPUs of the last scan are read"),
		})
	}
	return nil
}

// Close frees what the source holds. It does not wait for what hangs.
func (s *Source) Close() error {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shutDown.Do(func() { s.pool.Close(func() {}) })
	return nil
}
