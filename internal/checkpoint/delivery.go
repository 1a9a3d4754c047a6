// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
)

// Added returns a channel that has a value when messages may wait.
func (s *Store) Added() <-chan struct{} { return s.added }

// First returns the oldest message that waits, and its number. The caller owns it.
func (s *Store) First() (logs plog.Logs, number uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue.messages) > 0 && !s.closed {
		first := &s.queue.messages[0]
		logs, err := decode(first.data)
		if err == nil {
			return logs, first.number, true
		}
		s.discard(eventKey(first.number), err) // cannot be: it was decoded or encoded before
		s.queue.remove()
	}
	return plog.Logs{}, 0, false
}

// Accepted removes a message that was the first.
func (s *Store) Accepted(ctx context.Context, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.contains(number) {
		return // it was dropped meanwhile
	}
	s.queue.remove()
	if len(s.queue.messages) == 0 {
		s.full = false
	}
	s.write(ctx, nil)
}

// Waiting returns the number of records that wait. It does not wait for the storage.
func (s *Store) Waiting() int { return int(s.queue.records.Load()) }

// drop counts records that were dropped, and logs it once until all have been accepted.
func (s *Store) drop(ctx context.Context, records int) {
	if records == 0 {
		return
	}
	s.dropped(ctx, records)
	if !s.full {
		s.full = true
		s.logger.Warn("Events dropped from the storage", zap.String("reason", "too many events wait for the logs pipeline; the oldest are dropped"),
			zap.String("remedy", "find out why the logs pipeline refuses events; otelcol_gpu_events_dropped counts the dropped events"),
			zap.Int("max_events", maxRecords), zap.Int("max_bytes", maxBytes))
	}
}
