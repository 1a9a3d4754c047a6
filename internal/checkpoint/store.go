// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
)

const (
	queueKey    = "queue"
	statePrefix = "state/"
	eventPrefix = "event/"
	// timeout bounds one operation of the storage.
	timeout = 10 * time.Second
)

// Store keeps the states of sources, and the messages that wait for a consumer. A storage that fails costs what a restart would find there,
// and nothing else: messages wait in memory, too. It is safe for concurrent use.
type Store struct {
	client  storage.Client
	logger  *zap.Logger
	dropped func(ctx context.Context, records int)
	added   chan struct{}

	mu     sync.Mutex
	queue  queue
	failed bool // the last write failed, which was logged
	full   bool // messages were dropped since all had been accepted, which was logged
	closed bool
}

// Open reads the messages that wait. dropped is called with the number of records that are dropped because too many wait. What cannot be read is
// logged and discarded.
func Open(ctx context.Context, client storage.Client, logger *zap.Logger, dropped func(ctx context.Context, records int)) *Store {
	s := &Store{client: client, logger: logger, dropped: dropped, added: make(chan struct{}, 1)}
	s.readQueue(ctx)
	s.removeStale(ctx)
	if len(s.queue.messages) > 0 {
		s.added <- struct{}{}
	}
	return s
}

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
			s.queue.gone = append(s.queue.gone, number)
			continue
		}
		s.queue.put(message{number: number, data: data, records: logs.LogRecordCount(), stored: true})
	}
	s.queue.next = n.Next
}

// removeStale removes what nothing refers to any more, where the storage can list its keys.
func (s *Store) removeStale(ctx context.Context) {
	walker, ok := s.client.(storage.Walker)
	if !ok {
		return
	}
	waits := make(map[string]bool, len(s.queue.messages))
	for i := range s.queue.messages {
		waits[eventKey(s.queue.messages[i].number)] = true
	}
	now := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := walker.Walk(ctx, func(key string, value []byte) ([]*storage.Operation, error) {
		stale := strings.HasPrefix(key, eventPrefix) && !waits[key]
		if strings.HasPrefix(key, statePrefix) {
			_, err := decodeSnapshot(value, now)
			stale = errors.Is(err, errStale)
		}
		if stale {
			return []*storage.Operation{storage.DeleteOperation(key)}, nil
		}
		return nil, nil
	})
	if err != nil {
		s.logger.Warn("Old states not removed from the storage", zap.Error(err))
	}
}

func (s *Store) get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.client.Get(ctx, key)
}

func (s *Store) discard(key string, err error) {
	s.logger.Warn("Stored "+key+" is not used", zap.Error(err))
}

func eventKey(number uint64) string { return fmt.Sprintf("%s%d", eventPrefix, number) }

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

// Put stores what is known of a source and has a message wait, both or neither. open are records that are not complete yet: they wait
// only if the process ends before the next Put of the source.
func (s *Store) Put(ctx context.Context, key string, known any, open, logs plog.Logs) {
	var ops []*storage.Operation
	data, err := stateOf(known, open)
	if err == nil {
		ops = append(ops, storage.SetOperation(statePrefix+key, data))
	}
	s.mu.Lock()
	if count := logs.LogRecordCount(); count > 0 {
		data, encodeErr := encode(logs)
		if encodeErr != nil { // cannot be, and loses no state
			err = errors.Join(err, encodeErr)
		} else {
			s.drop(ctx, s.queue.add(data, count, false))
		}
	}
	s.write(ctx, err, ops...)
	waiting := len(s.queue.messages) > 0
	s.mu.Unlock()
	if waiting {
		select {
		case s.added <- struct{}{}:
		default:
		}
	}
}

func stateOf(known any, open plog.Logs) ([]byte, error) {
	var data []byte
	if open.LogRecordCount() > 0 {
		var err error
		if data, err = encode(open); err != nil {
			return nil, err
		}
	}
	return encodeSnapshot(known, data, time.Now())
}

// Forget removes what is known of a source.
func (s *Store) Forget(ctx context.Context, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(ctx, nil, storage.DeleteOperation(statePrefix+key))
}

// drop counts records that were dropped, and logs it once until all have been accepted.
func (s *Store) drop(ctx context.Context, records int) {
	if records == 0 {
		return
	}
	s.dropped(ctx, records)
	if !s.full {
		s.full = true
		s.logger.Warn("Oldest events dropped: too many wait for the next consumer; see why it refuses them",
			zap.Int("max_records", maxRecords), zap.Int("max_bytes", maxBytes))
	}
}

// write writes operations together with what has changed in the queue. err is why something could not be written at all.
func (s *Store) write(ctx context.Context, err error, ops ...*storage.Operation) {
	if s.closed {
		return
	}
	changed := len(s.queue.gone) > 0
	for i := range s.queue.messages {
		if m := &s.queue.messages[i]; !m.stored {
			ops = append(ops, storage.SetOperation(eventKey(m.number), m.data))
			changed = true
		}
	}
	for _, number := range s.queue.gone {
		ops = append(ops, storage.DeleteOperation(eventKey(number)))
	}
	if changed {
		ops = append(ops, storage.SetOperation(queueKey, s.queue.numbers()))
	}
	if len(ops) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if batchErr := s.client.Batch(ctx, ops...); batchErr != nil {
		err = errors.Join(err, batchErr)
	} else {
		for i := range s.queue.messages {
			s.queue.messages[i].stored = true
		}
		s.queue.gone = nil
	}
	s.log(err)
}

// log logs that the storage began or ceased to fail.
func (s *Store) log(err error) {
	switch {
	case err != nil && !s.failed:
		s.logger.Warn("Events and states are not stored: a restart would lose them; see the storage extension's directory and disk", zap.Error(err))
	case err == nil && s.failed:
		s.logger.Info("Events and states are stored again")
	}
	s.failed = err != nil
}

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
	if !s.queue.has(number) {
		return // it was dropped meanwhile
	}
	s.queue.remove()
	if len(s.queue.messages) == 0 {
		s.full = false
	}
	s.write(ctx, nil)
}

// Waiting returns the number of records that wait.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.records
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
