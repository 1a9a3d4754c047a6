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
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// answer is the result of a step.
type answer struct {
	records   []record
	err       error  // why records are missing
	warning   string // printed before the records
	exception bool   // the tool ended with an exception of Python and printed a trace only
}

// maxAttempts bounds how often a command is tried again without an option: amd-smi names one at a time.
const maxAttempts = 5

// tool is amd-smi and what is known of its version.
type tool struct {
	runner command.Runner
	want   gpu.Group

	refused   map[string]bool // options and commands that this version does not know
	temporary map[string]bool // the ones that are tried again when static is read again
	// exceptions are what commands ended with since static was read. They are run with fewer options.
	exceptions map[step]error
}

func newTool(runner command.Runner, want gpu.Group) tool {
	return tool{
		runner: runner, want: want, refused: make(map[string]bool), temporary: make(map[string]bool), exceptions: make(map[step]error),
	}
}

// forget forgets everything about the version.
func (t *tool) forget() {
	clear(t.refused)
	clear(t.temporary)
	clear(t.exceptions)
}

// retryTemporary lets the next run try again what was refused for a reason that may have passed.
func (t *tool) retryTemporary() {
	for key := range t.temporary {
		delete(t.refused, key)
	}
	clear(t.temporary)
	clear(t.exceptions)
}

// runs reports whether a step runs with this version and the wanted groups.
func (t *tool) runs(st step) bool { return arguments(st, t.want, t.refused) != nil }

// run runs steps in one call of the runner. Steps with an option that this version does not know run again without it. The error is the
// runner's: a command could not be run or did not end. The steps before it have their answers.
func (t *tool) run(ctx context.Context, steps ...step) (map[step]answer, error) {
	answers := make(map[step]answer, len(steps))
	for attempt := 1; ; attempt++ {
		var (
			commands []command.Command
			running  []step
			again    []step
		)
		for _, st := range steps {
			if args := arguments(st, t.want, t.refused); args != nil {
				commands = append(commands, newCommand(args))
				running = append(running, st)
			}
		}
		if len(commands) == 0 {
			return answers, nil
		}
		results, err := t.runner.Run(ctx, commands...)
		for i := range results[:min(len(results), len(running))] {
			a := answerOf(&results[i])
			answers[running[i]] = a
			var refused *toolError
			switch st := running[i]; {
			case errors.As(a.err, &refused) && refuse(st, refused.message, t.refused, t.temporary):
				again = append(again, st)
			case a.exception:
				t.exceptions[st] = a.err
				if dropAfterException(st, t.refused, t.temporary) {
					again = append(again, st)
				}
			}
		}
		if err != nil && slices.Contains(again, stepList) {
			delete(answers, stepList) // the refusal is not the reason for the missing list
		}
		if err != nil || len(again) == 0 || attempt == maxAttempts {
			return answers, err
		}
		for _, st := range again {
			delete(answers, st) // no answer if the next attempt does not end
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

// errorDocument returns the error that later versions print on stderr as JSON.
func errorDocument(stderr []byte) (string, bool) {
	_, err := parseRecords(stderr)
	var refused *toolError
	if !errors.As(err, &refused) {
		return "", false
	}
	return refused.message, true
}

// warning returns the first warning about permissions that precedes the JSON.
func warning(before []byte) string {
	for line := range bytes.Lines(before) {
		text := strings.ToLower(string(line))
		if strings.Contains(text, "required groups") || strings.Contains(text, "permission") {
			return smitext.Excerpt(line)
		}
	}
	return ""
}
