// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
)

// answer is what a step yielded.
type answer struct {
	records []record
	err     error  // why there are none, or not all
	warning string // what was printed before
	// exception: Python's, of which nothing but a trace is left.
	exception bool
}

// maxAttempts bounds how often a command is tried again without an option: amd-smi names one at a time.
const maxAttempts = 5

// run runs steps in one call, and those that hold an option this version does not know again without it. The error is the
// runner's: a command could not be run or did not end; the steps before it have their answers.
func (s *Source) run(ctx context.Context, steps ...step) (map[step]answer, error) {
	answers := make(map[step]answer, len(steps))
	for attempt := 1; ; attempt++ {
		var (
			commands []command.Command
			running  []step
			again    []step
		)
		for _, st := range steps {
			if args := arguments(st, s.want, s.refused); args != nil {
				commands = append(commands, newCommand(args))
				running = append(running, st)
			}
		}
		if len(commands) == 0 {
			return answers, nil
		}
		results, err := s.runner.Run(ctx, commands...)
		for i := range results[:min(len(results), len(running))] {
			a := answerOf(&results[i])
			answers[running[i]] = a
			var refused *toolError
			switch st := running[i]; {
			case errors.As(a.err, &refused) && refuse(st, refused.message, s.refused, s.passing):
				again = append(again, st)
			case a.exception:
				s.exceptions[st] = a.err
				if dropAfterException(st, s.refused, s.passing) {
					again = append(again, st)
				}
			}
		}
		if err != nil && slices.Contains(again, stepList) {
			delete(answers, stepList) // the refusal is not why there is no list
		}
		if err != nil || len(again) == 0 || attempt == maxAttempts {
			return answers, err
		}
		for _, st := range again {
			delete(answers, st) // where the next try does not end, there is none
		}
		steps = again
	}
}

func answerOf(r *command.Result) answer {
	records, err := parseRecords(r.Stdout)
	if errors.Is(err, smitext.ErrNotJSON) {
		err = smitext.Failure(r, err)
		if message, ok := errorDocument(r.Stderr); ok {
			err = &toolError{message: message}
		}
	}
	a := answer{records: records, err: err}
	a.exception = errors.Is(err, smitext.ErrNotJSON) && smitext.IsException(r.Stderr)
	if start := documentStart(r.Stdout); start > 0 {
		a.warning = warning(r.Stdout[:start])
	}
	return a
}

// errorDocument finds the error that later versions print on stderr.
func errorDocument(stderr []byte) (string, bool) {
	_, err := parseRecords(stderr)
	var refused *toolError
	if !errors.As(err, &refused) {
		return "", false
	}
	return refused.message, true
}

// warning returns the first warning of permissions before the JSON.
func warning(before []byte) string {
	for line := range bytes.Lines(before) {
		text := strings.ToLower(string(line))
		if strings.Contains(text, "required groups") || strings.Contains(text, "permission") {
			return smitext.Excerpt(line)
		}
	}
	return ""
}
