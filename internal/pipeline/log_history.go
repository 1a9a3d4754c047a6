// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

const (
	// forgetAfter is how long a subject must have been quiet to be new again.
	forgetAfter = 2 * time.Hour
	// maxKinds bounds the kinds of one subject that are logged immediately.
	maxKinds = 8
	// maxAbsent bounds the subjects that are remembered although the last read did not have them.
	maxAbsent = 1024
)

// repeats spaces the lines about one subject. The first changes are logged immediately; what changes at every read (a server that answers
// 429 and 503 in turn, a GPU that comes and goes) gets a line an hour in the end.
var repeats = backoff.Policy{First: time.Minute, Max: time.Hour, Free: 4}

// subject is what a line is about. The device is empty for a whole node.
type subject struct{ device, topic string }

// history remembers what was logged about each subject, so that there is a line when that changes and not at every read.
type history struct {
	now      func() time.Time
	subjects map[subject]*logged
}

// logged is the last line about a subject.
type logged struct {
	kind  string // the kind of its reason; empty: that it is over
	time  time.Time
	kinds []string // kinds of all lines since the subject was new
	pause backoff.Backoff
}

func newHistory() history {
	return history{now: time.Now, subjects: map[subject]*logged{}}
}

// changed reports whether a line about the subject is due because its last line said something else, and remembers the kind as logged.
// An empty kind means that nothing is wrong. A kind that no line had yet is due immediately. Any other change that is not due yet is due at a
// later call, if it lasts.
func (h *history) changed(s subject, kind string) bool {
	last := h.subjects[s]
	if last == nil {
		if kind == "" {
			return false
		}
		last = &logged{}
		h.subjects[s] = last
	}
	now := h.now()
	unknown := !slices.Contains(last.kinds, kind) && len(last.kinds) < maxKinds
	if last.kind == kind || !unknown && !last.pause.Due(now) {
		return false
	}
	if now.Sub(last.time) > forgetAfter {
		last.pause, last.kinds, unknown = backoff.Backoff{}, nil, true
	}
	if unknown {
		last.kinds = append(last.kinds, kind)
	}
	last.kind, last.time = kind, now
	last.pause.Failed(now, repeats)
	return true
}

// forget drops the subjects that the last read did not have: those that have been quiet for long, or all if there are too many.
func (h *history) forget(present func(subject) bool) {
	absent := 0
	for s := range h.subjects {
		if !present(s) {
			absent++
		}
	}
	now := h.now()
	maps.DeleteFunc(h.subjects, func(s subject, last *logged) bool {
		return !present(s) && (absent > maxAbsent || now.Sub(last.time) > forgetAfter)
	})
}

// kindOf returns the part of an error that decides whether its cause differs from the logged one. A connection fails for the same cause,
// independent of the request.
func kindOf(err error) string {
	if connection, ok := errors.AsType[*net.OpError](err); ok {
		return "connection: " + wordsOf(connection.Err.Error())
	}
	return wordsOf(err.Error())
}

// wordsOf returns a text without the words that have a digit: numbers, addresses, identifiers and times differ from read to read, and from
// device to device, even if the cause is the same.
func wordsOf(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}
