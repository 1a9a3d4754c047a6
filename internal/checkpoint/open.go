// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
)

const (
	queueKey    = "queue"
	statePrefix = "state/"
	eventPrefix = "event/"
	partPrefix  = "part/"
)

// openTimeout bounds all that is read at the start.
const openTimeout = time.Minute

// readQueue reads the messages that an earlier process has left.
func (s *Store) readQueue(ctx context.Context) {
	data, err := s.get(ctx, queueKey)
	var n numbers
	if err == nil && data != nil {
		n, err = decodeNumbers(data)
	}
	if err != nil {
		s.discard(queueKey, err)
		n.First = uint64(time.Now().UnixNano()) // after all numbers that may be in use
		n.Next = n.First
	}
	s.queue.next = n.First
	for number := n.First; number < n.Next; number++ {
		data, err := s.get(ctx, eventKey(number))
		if data == nil && err == nil {
			continue // a write that failed
		}
		var logs plog.Logs
		if err == nil {
			logs, err = decode(data)
		}
		if err != nil {
			s.discard(eventKey(number), err)
			s.queue.removed = append(s.queue.removed, number)
			continue
		}
		s.queue.put(message{number: number, data: data, records: logs.LogRecordCount(), stored: true})
		s.drop(ctx, s.queue.trim())
	}
	s.queue.next = n.Next
}

// readKeys reads all parts, and removes what nothing refers to any more. Without a storage that can list its keys there are no parts.
func (s *Store) readKeys(ctx context.Context) {
	walker, ok := s.client.(storage.Walker)
	if !ok {
		return
	}
	s.parts.listable = true
	waits := make(map[string]bool, len(s.queue.messages))
	for i := range s.queue.messages {
		waits[eventKey(s.queue.messages[i].number)] = true
	}
	now := time.Now()
	states := map[string]bool{} // by key: what can be used of them
	err := walker.Walk(ctx, func(key string, value []byte) ([]*storage.Operation, error) {
		switch {
		case strings.HasPrefix(key, eventPrefix) && !waits[key]:
			s.pending[key] = nil
		case strings.HasPrefix(key, statePrefix):
			_, err := decodeSnapshot(value, now)
			if errors.Is(err, errStale) {
				s.pending[key] = nil
			}
			states[strings.TrimPrefix(key, statePrefix)] = err == nil
		case strings.HasPrefix(key, partPrefix):
			s.findPart(key, value)
		}
		return nil, nil
	})
	for key := range s.parts.restored {
		if err == nil && !states[key] {
			s.discardParts(key)
		}
	}
	if err != nil {
		s.logger.Warn("Old entries were not removed from the storage", zap.Error(err), zap.String("effect", "they use disk space until the next start"))
	}
	s.write(ctx, nil)
}

func (s *Store) get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.client.Get(ctx, key)
}

func (s *Store) discard(key string, err error) {
	s.logger.Warn("Stored entry is not used", zap.String("key", key), zap.Error(err), zap.String("effect", "its content is lost"))
}

func eventKey(number uint64) string { return fmt.Sprintf("%s%d", eventPrefix, number) }
