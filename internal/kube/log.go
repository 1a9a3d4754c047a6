// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// repeatAfter is how long client-go's log keeps quiet about a message after it has been written once.
const repeatAfter = 10 * time.Minute

var redirectOnce sync.Once

// LogTo writes what client-go logs by itself to a logger instead of the standard error: its errors as warnings, the rest at debug
// level.
//
// client-go logs through klog, which has one logger for the whole process and does not allow it to be replaced while it is in use.
// So only the first call has an effect, and it also redirects the klog output of other components of the process. A component
// calls it when it is created: the Collector creates all components before it starts the first one, so no client is in use yet.
func LogTo(logger *zap.Logger) {
	redirectOnce.Do(func() { redirectKlog(logger) })
}

func redirectKlog(logger *zap.Logger) {
	once := zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, repeatAfter, 1, 0)
	})
	klog.SetLoggerWithOptions(logr.New(logSink{logger.WithOptions(once)}), klog.ContextualLogger(true))
}

// logSink implements logr.LogSink on a zap logger. It drops messages above verbosity 0, such as the headers of requests.
type logSink struct{ logger *zap.Logger }

var _ logr.LogSink = logSink{}

func (logSink) Init(logr.RuntimeInfo) {}

func (logSink) Enabled(level int) bool { return level == 0 }

func (s logSink) Info(_ int, message string, pairs ...any) {
	s.logger.Debug("client-go: "+message, fields(pairs)...)
}

func (s logSink) Error(err error, message string, pairs ...any) {
	s.logger.Warn("client-go: "+message, append(fields(pairs), zap.Error(err))...)
}

func (s logSink) WithValues(pairs ...any) logr.LogSink {
	return logSink{s.logger.With(fields(pairs)...)}
}

func (s logSink) WithName(name string) logr.LogSink { return logSink{s.logger.Named(name)} }

func fields(pairs []any) []zap.Field {
	all := make([]zap.Field, 0, len(pairs)/2+1)
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, zap.String(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])))
	}
	return all
}
