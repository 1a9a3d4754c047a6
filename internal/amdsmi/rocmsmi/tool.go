// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"context"
	"errors"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// maxAttempts bounds how often a read starts the tool because it did not know an option.
	maxAttempts = 3
	// forgetAfter is the number of reads after which a refused option is tried again: the tool may have been replaced by a newer one.
	forgetAfter = 120
)

// tool is rocm-smi and what is known of its version.
type tool struct {
	runner  command.Runner
	want    gpu.Group
	refused map[string]bool // options that this version does not know
	reads   int             // since refused was last emptied
}

// forget forgets what the version does not know.
func (t *tool) forget() {
	clear(t.refused)
	t.reads = 0
}

// run starts rocm-smi, and again without the options that this version does not know. The error is the runner's; what was read before it
// is returned as well.
func (t *tool) run(ctx context.Context) (out *output, tables *textTables, err error) {
	if t.reads++; t.reads > forgetAfter {
		t.forget()
	}
	jsonPending := true // the JSON was not read yet
	for attempt := 1; ; attempt++ {
		var commands []command.Command
		if jsonPending {
			args := append([]string{"--json"}, arguments(jsonOptions, t.want, t.refused)...)
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		if args := arguments(textOptions, t.want, t.refused); args != nil {
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		var results []command.Result
		if len(commands) > 0 {
			results, err = t.runner.Run(ctx, commands...)
		}
		again := false
		if jsonPending && len(results) > 0 {
			r := &results[0]
			out = outputOf(r)
			jsonPending = errors.Is(out.err, smitext.ErrNotJSON) && refuse(jsonOptions, r.Stderr, t.refused)
			again = jsonPending
			results = results[1:]
		}
		if len(results) > 0 {
			r := &results[0]
			text, _ := r.Lines()
			read := parseTables(text)
			tables = &read
			again = !read.complete && t.dropTextOption(r) || again
		}
		if jsonPending && err != nil {
			return nil, tables, err // the refusal is not the reason for the missing cards
		}
		if err != nil || !again || attempt == maxAttempts {
			return out, tables, err
		}
	}
}

// dropTextOption takes note of what to leave out of the call for text, whose output has no end. It reports whether there is such an option.
func (t *tool) dropTextOption(r *command.Result) bool {
	if refuse(textOptions, r.Stderr, t.refused) {
		return true
	}
	if r.ExitCode == 0 || t.refused[optionRAS] || !t.want.Has(gpu.GroupECC) {
		return false
	}
	t.refused[optionRAS] = true
	return true
}
