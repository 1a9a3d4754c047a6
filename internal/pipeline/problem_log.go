// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// ProblemLog logs a problem when it appears and when it is over, not at every interval, and counts those that last.
type ProblemLog struct {
	logger *zap.Logger
	known  map[problemKey]bool // the value: it was logged as a warning
}

// maxLogged bounds the lines of one read, both for problems that are new and for those that are over. A machine with sixteen
// GPUs has fewer; a remote node that invents GPUs must not fill the log of the collector that reads the others.
const maxLogged = 256

type problemKey struct{ device, what string }

// NewProblemLog returns a ProblemLog that writes to a logger.
func NewProblemLog(logger *zap.Logger) *ProblemLog {
	return &ProblemLog{logger: logger, known: map[problemKey]bool{}}
}

// Add logs a problem if it is new. The others stay: a read that failed as a whole does not say that they are over.
func (l *ProblemLog) Add(p gpu.Problem) {
	key := problemKey{p.Device, p.What}
	if !l.known[key] {
		l.known[key] = true
		l.failed(true, key, p.Err)
	}
}

// Update logs the problems of a read that are new, and those of earlier reads that are over. expected reports whether there
// is anything that should be readable; without it a problem is information. It becomes a warning when that changes.
func (l *ProblemLog) Update(problems []gpu.Problem, expected bool) {
	if len(problems) == 0 && len(l.known) == 0 {
		return
	}
	now := make(map[problemKey]bool, len(problems))
	logged := 0
	for _, p := range problems {
		key := problemKey{p.Device, p.What}
		if _, repeated := now[key]; repeated {
			continue
		}
		warned, known := l.known[key]
		now[key] = warned || expected
		if known && (!expected || warned) {
			continue
		}
		if logged++; logged <= maxLogged {
			l.failed(expected, key, p.Err)
		}
	}
	if more := logged - maxLogged; more > 0 {
		l.logger.Warn("Further reads failed that are not logged", zap.Int("problems", more))
	}
	over := 0
	for key := range l.known {
		if _, still := now[key]; still {
			continue
		}
		if over++; over <= maxLogged {
			l.logger.Info("Read works again", key.fields()...)
		}
	}
	l.known = now
}

// Unreadable is the number of problems that last and concern something that should be readable.
func (l *ProblemLog) Unreadable() int {
	n := 0
	for _, warned := range l.known {
		if warned {
			n++
		}
	}
	return n
}

// failed logs a failed read. The reason names what was attempted and what to do.
func (l *ProblemLog) failed(expected bool, key problemKey, reason error) {
	fields := append(key.fields(), zap.NamedError("reason", reason))
	if expected {
		l.logger.Warn("Read failed", fields...)
	} else {
		l.logger.Info("No GPU of this vendor found", fields...)
	}
}

func (k problemKey) fields() []zap.Field {
	fields := []zap.Field{zap.String("what", k.what)}
	if k.device != "" {
		fields = append(fields, zap.String("hw.id", k.device))
	}
	return fields
}

// states logs changes of state, one line for all devices with the same new state and reason. The events carry the same, but a
// collector need not have a logs pipeline.
func (l *ProblemLog) states(changes []gpu.Event) {
	type change struct {
		state  gpu.State
		reason string
	}
	var logged []change
	for i := range changes {
		c := change{changes[i].State, changes[i].Message}
		if slices.Contains(logged, c) {
			continue
		}
		logged = append(logged, c)
		var ids, names []string
		for j := range changes[i:] {
			if e := &changes[i+j]; e.State == c.state && e.Message == c.reason {
				ids, names = append(ids, e.DeviceID), append(names, e.Name)
			}
		}
		fields := []zap.Field{zap.Strings("hw.id", ids), zap.Strings("hw.name", names)}
		if c.state == gpu.StateOK {
			l.logger.Info("GPU healthy again", fields...)
			continue
		}
		l.logger.Warn("GPU unhealthy", append(fields, zap.String("hw.state", record.StateName(c.state)), zap.String("reason", c.reason))...)
	}
}
