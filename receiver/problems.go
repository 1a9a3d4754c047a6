// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// problemLog explains each problem once for as long as it stays, not at every interval; twice, where it was no warning at first.
type problemLog struct {
	logger *zap.Logger
	known  map[problemKey]bool // whether it was a warning: something that should have been read
}

// mostSaid is how many problems one read has explained, and how many it has said to be over. A machine of sixteen GPUs has fewer.
const mostSaid = 256

type problemKey struct{ device, what string }

func newProblemLog(logger *zap.Logger) *problemLog {
	return &problemLog{logger: logger, known: map[problemKey]bool{}}
}

// add logs a problem that is new. It tells nothing of the others: where the whole read has failed they are not gone.
func (l *problemLog) add(p gpu.Problem) {
	key := problemKey{p.Device, p.What}
	if !l.known[key] {
		l.known[key] = true
		l.explain(true, append(key.fields(), zap.NamedError("reason", p.Err)))
	}
}

// update logs the problems that are new, and those that are gone. Where nothing is expected to be read they are no warning.
func (l *problemLog) update(problems []gpu.Problem, expected bool) {
	if len(problems) == 0 && len(l.known) == 0 {
		return
	}
	now := make(map[problemKey]bool, len(problems))
	said := 0
	for _, p := range problems {
		key := problemKey{p.Device, p.What}
		if _, twice := now[key]; twice {
			continue
		}
		warned, known := l.known[key]
		now[key] = warned || expected
		if known && (!expected || warned) {
			continue
		}
		if said++; said <= mostSaid {
			l.explain(expected, append(key.fields(), zap.NamedError("reason", p.Err)))
		}
	}
	if more := said - mostSaid; more > 0 {
		l.logger.Warn("More cannot be read than is said here", zap.Int("problems", more))
	}
	over := 0
	for key := range l.known {
		if _, still := now[key]; still {
			continue
		}
		if over++; over <= mostSaid {
			l.logger.Info("Can be read again, or is gone", key.fields()...)
		}
	}
	l.known = now
}

// unreadable counts what should be readable and is not. A vendor of which there is nothing and nothing is expected has none.
func (l *problemLog) unreadable() int {
	n := 0
	for _, warned := range l.known {
		if warned {
			n++
		}
	}
	return n
}

func (l *problemLog) explain(expected bool, fields []zap.Field) {
	if expected {
		l.logger.Warn("Cannot read; it is left out until it can be read, and this is not said again", fields...)
	} else {
		l.logger.Info("No GPU of this vendor found; looking again from time to time, without saying so again", fields...)
	}
}

func (k problemKey) fields() []zap.Field {
	fields := []zap.Field{zap.String("what", k.what)}
	if k.device != "" {
		fields = append(fields, zap.String("hw.id", k.device))
	}
	return fields
}
