// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// Sink receives OTLP over HTTP.
type Sink struct {
	// URL is the endpoint for an otlp_http exporter.
	URL string
	// Each is called with each message with metrics, if it is set before the first one arrives. It must not change the message.
	Each func(pmetric.Metrics)

	server *httptest.Server

	mu       sync.Mutex
	messages int
	last     pmetric.Metrics
	times    map[pcommon.Timestamp]int
	bytes    int64
	events   []plog.LogRecord
	wrong    []error
	arrived  chan struct{} // closed and replaced at every message
}

// NewSink starts a sink.
func NewSink() *Sink {
	s := &Sink{arrived: make(chan struct{}), last: pmetric.NewMetrics(), times: map[pcommon.Timestamp]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/metrics", s.takeMetrics)
	mux.HandleFunc("POST /v1/logs", s.takeLogs)
	s.server = httptest.NewServer(mux)
	s.URL = s.server.URL
	return s
}

// Close ends the sink and returns the errors of messages that could not be parsed.
func (s *Sink) Close() error {
	s.server.CloseClientConnections()
	s.server.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.wrong...)
}

// Messages returns the number of messages with metrics, and Bytes their size on the wire.
func (s *Sink) Messages() (messages int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages, s.bytes
}

// Times counts the messages with metrics by the time of their data: a message that arrived twice has 2.
func (s *Sink) Times() map[pcommon.Timestamp]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.times)
}

// MessageTime returns the time of the first point of a message that does not end a series.
func MessageTime(metrics pmetric.Metrics) (pcommon.Timestamp, bool) {
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, m := range scope.Metrics().All() {
				var points pmetric.NumberDataPointSlice
				if m.Type() == pmetric.MetricTypeSum {
					points = m.Sum().DataPoints()
				} else {
					points = m.Gauge().DataPoints()
				}
				for _, p := range points.All() {
					if !p.Flags().NoRecordedValue() {
						return p.Timestamp(), true
					}
				}
			}
		}
	}
	return 0, false
}

// Last returns the last message. The caller must not change it.
func (s *Sink) Last() pmetric.Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Next returns the points of the first message from now on that the function accepts.
func (s *Sink) Next(ctx context.Context, accept func(Points) bool) (Points, error) {
	s.mu.Lock()
	arrived, last := s.arrived, Points(nil)
	s.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("no message like that: %w", ctx.Err())
		case <-arrived:
		}
		s.mu.Lock()
		arrived, last = s.arrived, Flatten(s.last)
		s.mu.Unlock()
		if accept(last) {
			return last, nil
		}
	}
}

// Events returns the log records received so far.
func (s *Sink) Events() []plog.LogRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]plog.LogRecord(nil), s.events...)
}

func (s *Sink) takeMetrics(w http.ResponseWriter, r *http.Request) {
	request := pmetricotlp.NewExportRequest()
	length, ok := s.read(w, r, request.UnmarshalProto)
	if !ok {
		return
	}
	s.accept(request, length)
	s.answer(w, pmetricotlp.NewExportResponse().MarshalProto)
}

func (s *Sink) accept(request pmetricotlp.ExportRequest, length int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	s.bytes += length
	s.last = request.Metrics()
	if s.Each != nil {
		s.Each(s.last)
	}
	if t, ok := MessageTime(s.last); ok {
		s.times[t]++
	}
	close(s.arrived)
	s.arrived = make(chan struct{})
}

func (s *Sink) takeLogs(w http.ResponseWriter, r *http.Request) {
	request := plogotlp.NewExportRequest()
	if _, ok := s.read(w, r, request.UnmarshalProto); !ok {
		return
	}
	s.acceptLogs(request.Logs())
	s.answer(w, plogotlp.NewExportResponse().MarshalProto)
}

func (s *Sink) acceptLogs(logs plog.Logs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, record := range scope.LogRecords().All() {
				s.events = append(s.events, record)
			}
		}
	}
}

// read passes the body to unmarshal and returns its size on the wire.
func (s *Sink) read(w http.ResponseWriter, r *http.Request, unmarshal func([]byte) error) (int64, bool) {
	body, err := io.ReadAll(r.Body)
	length := int64(len(body))
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		body, err = unzip(body)
	}
	if err == nil {
		err = unmarshal(body)
	}
	if err != nil {
		s.fail(w, fmt.Errorf("%s: %w", r.URL.Path, err))
		return 0, false
	}
	return length, true
}

func (s *Sink) answer(w http.ResponseWriter, marshal func() ([]byte, error)) {
	body, err := marshal()
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(body) // the collector may have ended
}

func (s *Sink) fail(w http.ResponseWriter, err error) {
	s.mu.Lock()
	s.wrong = append(s.wrong, err)
	s.mu.Unlock()
	http.Error(w, err.Error(), http.StatusBadRequest)
}
