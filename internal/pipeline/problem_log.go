// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ProblemLog logs a problem when it appears, when its reason changes and when it is over, not at every interval, and counts those that
// last. The problems of one read that have the same reason are one line with all their devices.
type ProblemLog struct {
	logger  *zap.Logger
	suffix  string
	history history
	present map[subject]bool // the problems that last; the value: it concerns something that should be readable
}

// NewProblemLog returns a ProblemLog that writes to a logger. suffix ends each message: " on node n1"; it is empty for this machine.
func NewProblemLog(logger *zap.Logger, suffix string) *ProblemLog {
	return &ProblemLog{logger: logger, suffix: suffix, history: newHistory(), present: map[subject]bool{}}
}

// Add logs a problem if it is new or has another reason. The others stay: a read that failed as a whole does not say that they are over.
func (l *ProblemLog) Add(p gpu.Problem) {
	var begun lines
	why := &reason{}
	why.add(p.Err)
	l.failed(&begun, subject{p.Device, p.What}, why, true)
	begun.write(l.logger, l.suffix)
}

// Update logs the problems of a read that are new or have another reason, and the problems of earlier reads that are over. expected reports
// whether anything should be readable; otherwise a problem is for debugging. It becomes a warning when that changes.
func (l *ProblemLog) Update(problems []gpu.Problem, expected bool) {
	if len(problems) == 0 && len(l.history.subjects) == 0 {
		return
	}
	reasons := make(map[subject]*reason, len(problems))
	var order []subject
	for _, p := range problems {
		s := subject{p.Device, p.What}
		if reasons[s] == nil {
			reasons[s] = &reason{}
			order = append(order, s)
		}
		reasons[s].add(p.Err)
	}
	var begun, ended lines
	for _, s := range order {
		l.failed(&begun, s, reasons[s], expected || l.present[s])
	}
	lasts := func(s subject) bool { return reasons[s] != nil }
	for s := range l.history.subjects {
		if !lasts(s) && l.history.changed(s, "") {
			ended.add(line{level: zapcore.InfoLevel, event: "Read works again", topic: s.topic}, s.device, "")
		}
	}
	maps.DeleteFunc(l.present, func(s subject, _ bool) bool { return !lasts(s) })
	l.history.forget(lasts)
	if more := begun.write(l.logger, l.suffix); more > 0 {
		l.logger.Warn("Further failed reads are not logged"+l.suffix, zap.Int("not_logged", more))
	}
	ended.sort()
	ended.write(l.logger, l.suffix)
}

// failed notes a problem and adds its line if one is due.
func (l *ProblemLog) failed(out *lines, s subject, why *reason, expected bool) {
	l.present[s] = expected
	n := line{level: zapcore.WarnLevel, event: "Read failed", topic: s.topic, reason: why.text, kind: why.kind()}
	if !expected {
		n.level, n.event = zapcore.DebugLevel, "No GPU of this vendor found"
	}
	if l.history.changed(s, n.event+": "+n.kind) {
		out.add(n, s.device, "")
	}
}

// maxReasons bounds the reasons of one subject that are logged.
const maxReasons = 8

// reason is why a subject cannot be read: what was attempted and what to do. A subject may have several.
type reason struct {
	text  string
	kinds []string
}

// kind is the same in whatever order the reasons come.
func (r *reason) kind() string { return strings.Join(slices.Sorted(slices.Values(r.kinds)), "; ") }

func (r *reason) add(err error) {
	kind := kindOf(err)
	if len(r.kinds) == maxReasons || slices.Contains(r.kinds, kind) {
		return
	}
	if len(r.kinds) > 0 {
		r.text += "; "
	}
	r.text += err.Error()
	r.kinds = append(r.kinds, kind)
}

// Unreadable is the number of problems that last and concern something that should be readable.
func (l *ProblemLog) Unreadable() int {
	n := 0
	for _, expected := range l.present {
		if expected {
			n++
		}
	}
	return n
}
