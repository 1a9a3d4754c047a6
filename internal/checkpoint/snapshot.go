// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
)

const (
	// version is the version of snapshots and of the queue's numbers. Data of another version is discarded.
	version = 1
	// maxState bounds a snapshot, in bytes.
	maxState = 4 << 20
	// staleAfter is how long a snapshot counts that is not written again, because its node has gone or another replica reads the node.
	staleAfter = 7 * 24 * time.Hour
)

// snapshot is what is stored of one source.
type snapshot struct {
	Version int             `json:"version"`
	Written time.Time       `json:"written"`
	Known   json.RawMessage `json:"known"`
	// Open is a message, as OTLP, with the records that were not complete: sums of repeats. It is sent as it is if the process ends before.
	Open []byte `json:"open,omitempty"`
}

var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxState>>20)

// stateOf returns what is to be stored of a source.
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

// encodeSnapshot returns what is to be stored.
func encodeSnapshot(known any, open []byte, now time.Time) ([]byte, error) {
	raw, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(snapshot{Version: version, Written: now, Known: raw, Open: open})
	if err == nil && len(data) > maxState {
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("write the state: %w", err)
	}
	return data, nil
}

var errStale = fmt.Errorf("it is older than %d days", int(staleAfter.Hours())/24)

// decodeSnapshot returns what was stored, unless it is of another version, stale, or no snapshot.
func decodeSnapshot(data []byte, now time.Time) (*snapshot, error) {
	if len(data) > maxState {
		return nil, errTooLarge
	}
	s := &snapshot{}
	switch err := json.Unmarshal(data, s); {
	case s.Version != 0 && s.Version != version:
		return nil, fmt.Errorf("its version is %d, and this collector reads %d", s.Version, version)
	case err != nil:
		return nil, err
	case s.Version == 0 || len(s.Known) == 0:
		return nil, errors.New("it is not a stored state")
	case now.Sub(s.Written) > staleAfter:
		return nil, errStale
	}
	return s, nil
}
