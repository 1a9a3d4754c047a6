// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// follower reads what is appended to the collector's OTLP file, which has one JSON document in each line.
type follower struct {
	path   string
	offset int64
	rest   []byte // a line that is not complete yet
}

// next returns the metrics that were written since the last call. A file that has become shorter was rotated.
func (f *follower) next() ([]pmetric.Metrics, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the collector's output: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < f.offset {
		f.offset, f.rest = 0, nil
	}
	added, err := io.ReadAll(io.NewSectionReader(file, f.offset, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("read the collector's output: %w", err)
	}
	f.offset += int64(len(added))
	lines := bytes.Split(append(f.rest, added...), []byte("\n"))
	f.rest = bytes.Clone(lines[len(lines)-1])
	var all []pmetric.Metrics
	for _, line := range lines[:len(lines)-1] {
		if !bytes.HasPrefix(line, []byte(`{"resourceMetrics"`)) {
			continue // a log record
		}
		metrics, err := (&pmetric.JSONUnmarshaler{}).UnmarshalMetrics(line)
		if err != nil {
			return nil, fmt.Errorf("read the collector's output: %w", err)
		}
		all = append(all, metrics)
	}
	return all, nil
}
