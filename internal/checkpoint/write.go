// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"
)

// timeout bounds one operation of the storage.
const timeout = 10 * time.Second

// write writes what is pending together with what has changed in the queue. What cannot be written stays pending, so that it is written together
// with what was to be written with it. err is why something could not be written at all.
func (s *Store) write(ctx context.Context, err error) {
	ops := s.operations()
	if s.closed || len(ops) == 0 {
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
		s.queue.removed = nil
		clear(s.pending)
		clear(s.parts.unwritten)
	}
	s.log(err)
}

// operations returns all that is not written yet.
func (s *Store) operations() []*storage.Operation {
	var ops []*storage.Operation
	for key, data := range s.pending {
		ops = append(ops, operation(key, data))
	}
	changed := len(s.queue.removed) > 0
	for i := range s.queue.messages {
		if m := &s.queue.messages[i]; !m.stored {
			ops = append(ops, storage.SetOperation(eventKey(m.number), m.data))
			changed = true
		}
	}
	for _, number := range s.queue.removed {
		ops = append(ops, storage.DeleteOperation(eventKey(number)))
	}
	if changed {
		ops = append(ops, storage.SetOperation(queueKey, s.queue.numbers()))
	}
	return ops
}

func operation(key string, data []byte) *storage.Operation {
	if data == nil {
		return storage.DeleteOperation(key)
	}
	return storage.SetOperation(key, data)
}

// log logs that the storage started or stopped failing.
func (s *Store) log(err error) {
	switch {
	case err != nil && !s.failed:
		s.logger.Warn("Events and states are not stored", zap.Error(err), zap.String("effect", "they are lost if the collector restarts"),
			zap.String("remedy", "check the directory and the disk of the storage extension"))
	case err == nil && s.failed:
		s.logger.Info("Events and states are stored again")
	}
	s.failed = err != nil
}
