// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// readStats has the outcome of the reads of one source. It can be asked while a read hangs.
type readStats struct {
	mu   sync.Mutex
	last readStat
	due  time.Time // when the read in progress should have ended; zero without one
}

type readStat struct {
	read     bool // there was a read; the other fields mean nothing before
	success  bool
	duration time.Duration
	good     time.Time // when the last successful read began; zero without one
}

// begin notes that a read begins, which its context bounds.
func (s *readStats) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due, _ = ctx.Deadline()
}

// end notes the end of a read.
func (s *readStats) end(began time.Time, success bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = time.Time{}
	s.last.read, s.last.success, s.last.duration = true, success, time.Since(began)
	if success {
		s.last.good = began
	}
}

// get returns the outcome of the last read, or of the one in progress if it is overdue.
func (s *readStats) get() readStat {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	if !s.due.IsZero() && time.Now().After(s.due) {
		last.read, last.success, last.duration = true, false, 0
	}
	return last
}

// labels returns attributes with the receiver among them: a collector may have several receivers with the same scraper.
func labels(receiver string, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, attribute.String("receiver", receiver))...))
}
