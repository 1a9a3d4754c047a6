// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/plog"
)

const (
	// maxRecords and maxBytes bound the messages that wait; the oldest are dropped first.
	maxRecords = 10_000
	maxBytes   = 16 << 20
)

// message waits for a consumer. It is kept encoded: a consumer may change what it gets, and refuse it then.
type message struct {
	number  uint64
	data    []byte
	records int
	stored  bool
}

// queue is what waits, oldest first.
type queue struct {
	messages []message
	next     uint64 // the number of the next message
	records  atomic.Int64
	bytes    int
	removed  []uint64 // are stored and are to be removed
}

// add adds a message and returns the number of records that were dropped for it.
func (q *queue) add(data []byte, records int, stored bool) (dropped int) {
	q.put(message{number: q.next, data: data, records: records, stored: stored})
	return q.trim()
}

// trim removes the oldest messages until no more wait than may, and returns the number of their records.
func (q *queue) trim() (dropped int) {
	for len(q.messages) > 0 && (q.records.Load() > maxRecords || q.bytes > maxBytes) {
		dropped += q.messages[0].records
		q.remove()
	}
	return dropped
}

func (q *queue) put(m message) {
	q.messages = append(q.messages, m)
	q.next = m.number + 1
	q.records.Add(int64(m.records))
	q.bytes += len(m.data)
}

// remove removes the first message.
func (q *queue) remove() {
	first := &q.messages[0]
	if first.stored {
		q.removed = append(q.removed, first.number)
	}
	q.records.Add(int64(-first.records))
	q.bytes -= len(first.data)
	q.messages[0] = message{}
	q.messages = q.messages[1:]
}

// contains reports whether a message is the first.
func (q *queue) contains(number uint64) bool {
	return len(q.messages) > 0 && q.messages[0].number == number
}

// numbers is what is stored of the queue: the messages from First to Next exclusive may wait.
type numbers struct {
	Version int    `json:"version"`
	First   uint64 `json:"first"`
	Next    uint64 `json:"next"`
}

// numbers returns the queue's numbers, including the numbers of messages that are still to be removed.
func (q *queue) numbers() []byte {
	n := numbers{Version: version, First: q.next, Next: q.next}
	if len(q.messages) > 0 {
		n.First = q.messages[0].number
	}
	data, _ := json.Marshal(n) // numbers alone
	return data
}

// decodeNumbers returns what was stored.
func decodeNumbers(data []byte) (numbers, error) {
	var n numbers
	err := json.Unmarshal(data, &n)
	switch {
	case err != nil && n.Version == 0:
		return numbers{}, err
	case n.Version != version:
		return numbers{}, fmt.Errorf("its version is %d, and this collector reads %d", n.Version, version)
	case err != nil:
		return numbers{}, err
	case n.First > n.Next || n.Next-n.First > maxRecords:
		return numbers{}, fmt.Errorf("the numbers of its messages are wrong: first %d, next %d", n.First, n.Next)
	}
	return n, nil
}

func encode(logs plog.Logs) ([]byte, error) { return (&plog.ProtoMarshaler{}).MarshalLogs(logs) }

// decode returns a message that has records.
func decode(data []byte) (plog.Logs, error) {
	if len(data) > maxBytes {
		return plog.Logs{}, fmt.Errorf("it is larger than %d MiB", maxBytes>>20)
	}
	logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(data)
	if err == nil && logs.LogRecordCount() == 0 {
		err = errors.New("it contains no records")
	}
	return logs, err
}
