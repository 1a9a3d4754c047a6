// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
)

// Store keeps the states of sources, and the messages that wait for a consumer. A storage that fails costs what a restart would find there,
// and nothing else: messages wait in memory, too. It is safe for concurrent use.
type Store struct {
	client  storage.Client
	logger  *zap.Logger
	dropped func(ctx context.Context, records int)
	added   chan struct{}

	mu      sync.Mutex
	queue   queue
	parts   parts
	pending map[string][]byte // what is to be written, by key; nil: removed
	failed  bool              // the last write failed, which was logged
	full    bool              // messages were dropped since all had been accepted, which was logged
	closed  bool
}

// Open reads the messages that wait. dropped is called with the number of records that are dropped because too many wait. What cannot be read is
// logged and discarded.
func Open(ctx context.Context, client storage.Client, logger *zap.Logger, dropped func(ctx context.Context, records int)) *Store {
	s := &Store{client: client, logger: logger, dropped: dropped, added: make(chan struct{}, 1), pending: map[string][]byte{}}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	s.readQueue(ctx)
	s.readKeys(ctx)
	if len(s.queue.messages) > 0 {
		s.added <- struct{}{}
	}
	return s
}

// Load reads into known what was stored of a source, and reports whether there was something. The records that were not complete
// then wait from now on.
func (s *Store) Load(ctx context.Context, key string, known any) bool {
	data, err := s.get(ctx, statePrefix+key)
	if data == nil && err == nil {
		return false
	}
	var stored *snapshot
	if err == nil {
		stored, err = decodeSnapshot(data, time.Now())
	}
	if err == nil {
		err = json.Unmarshal(stored.Known, known)
	}
	if err != nil {
		s.discard(statePrefix+key, err)
		s.mu.Lock()
		s.discardParts(key)
		s.mu.Unlock()
		return false
	}
	if len(stored.Open) > 0 {
		logs, err := decode(stored.Open)
		if err != nil {
			s.discard("open records of "+statePrefix+key, err)
			return true
		}
		s.Put(ctx, key, stored.Known, plog.NewLogs(), logs)
	}
	return true
}

// Put stores what is known of a source, with the parts of it that have changed, and has a message wait: all of it or nothing. open are records
// that are not complete yet: they wait only if the process ends before the next Put of the source.
func (s *Store) Put(ctx context.Context, key string, known any, open, logs plog.Logs, changed ...Part) {
	state, err := stateOf(known, open)
	encoded, partsErr := encodeParts(key, changed)
	err = errors.Join(err, partsErr)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.pending[statePrefix+key] = state // nil if it cannot be stored: an old state would report its changes again
	for _, part := range encoded {
		s.putPart(part.key, part.data)
	}
	if count := logs.LogRecordCount(); count > 0 {
		data, encodeErr := encode(logs)
		if encodeErr != nil { // cannot be, and loses no state
			err = errors.Join(err, encodeErr)
		} else {
			s.drop(ctx, s.queue.add(data, count, false))
		}
	}
	s.write(ctx, err)
	waiting := len(s.queue.messages) > 0
	s.mu.Unlock()
	if waiting {
		select {
		case s.added <- struct{}{}:
		default:
		}
	}
}

// Forget removes what is known of a source.
func (s *Store) Forget(ctx context.Context, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[statePrefix+key] = nil
	s.write(ctx, nil)
}

// Close closes the storage. What waits is sent after the next start.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.client.Close(ctx)
}
