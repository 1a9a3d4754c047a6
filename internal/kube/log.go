// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"k8s.io/klog/v2"
)

const (
	// sayAgain is for how long the same words of client-go are said at debug level only.
	sayAgain = 10 * time.Minute
	// maxSaid bounds the words that are remembered.
	maxSaid = 64
)

var logOnce sync.Once

// LogTo has what client-go says by itself written by a logger rather than to the standard error: errors as warnings, the same
// one once in a while, and all else for debugging. client-go has one logger for the whole process, so the first call counts,
// also for other components of the process that use client-go.
func LogTo(logger *zap.Logger) {
	logOnce.Do(func() { logTo(logger) })
}

func logTo(logger *zap.Logger) {
	sink := &logSink{logger: logger, said: &said{now: time.Now, last: make(map[string]time.Time)}}
	klog.SetLoggerWithOptions(logr.New(sink), klog.ContextualLogger(true))
}

// logSink writes to a zap logger. What client-go says at higher levels of verbosity, such as the headers of requests, it does
// not take.
type logSink struct {
	logger *zap.Logger
	said   *said
}

var _ logr.LogSink = (*logSink)(nil)

// Init implements logr.LogSink.
func (*logSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (*logSink) Enabled(level int) bool { return level == 0 }

// Info implements logr.LogSink.
func (s *logSink) Info(_ int, message string, pairs ...any) {
	s.logger.Debug("client-go: "+message, fields(pairs)...)
}

// Error implements logr.LogSink.
func (s *logSink) Error(err error, message string, pairs ...any) {
	log := s.logger.Debug
	if s.said.news(message) {
		log = s.logger.Warn
	}
	log("client-go: "+message, append(fields(pairs), zap.Error(err))...)
}

// WithValues implements logr.LogSink.
func (s *logSink) WithValues(pairs ...any) logr.LogSink {
	return &logSink{logger: s.logger.With(fields(pairs)...), said: s.said}
}

// WithName implements logr.LogSink.
func (s *logSink) WithName(name string) logr.LogSink {
	return &logSink{logger: s.logger.Named(name), said: s.said}
}

func fields(pairs []any) []zap.Field {
	all := make([]zap.Field, 0, len(pairs)/2+1)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, zap.String(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])))
	}
	return all
}

// said is what was said of late.
type said struct {
	mu   sync.Mutex
	now  func() time.Time
	last map[string]time.Time
}

// news tells whether words were not said for a while, and notes that they are now.
func (s *said) news(words string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if last, ok := s.last[words]; ok && now.Sub(last) < sayAgain {
		return false
	}
	if len(s.last) >= maxSaid {
		clear(s.last)
	}
	s.last[words] = now
	return true
}
