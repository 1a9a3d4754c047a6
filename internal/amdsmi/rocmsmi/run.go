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

// run starts rocm-smi, and again without the options that this version does not know. The error is the runner's; what was read before it
// is returned as well.
func (s *Source) run(ctx context.Context) (out *output, tables *textTables, err error) {
	wanted := true // the JSON was not read yet
	for attempt := 1; ; attempt++ {
		var commands []command.Command
		if wanted {
			args := append([]string{"--json"}, arguments(jsonOptions, s.want, s.refused)...)
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		if args := arguments(textOptions, s.want, s.refused); args != nil {
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		var results []command.Result
		if len(commands) > 0 {
			results, err = s.runner.Run(ctx, commands...)
		}
		again := false
		if wanted && len(results) > 0 {
			r := &results[0]
			out = outputOf(r)
			wanted = errors.Is(out.err, smitext.ErrNotJSON) && refuse(jsonOptions, r.Stderr, s.refused)
			again = wanted
			results = results[1:]
		}
		if len(results) > 0 {
			r := &results[0]
			text, _ := r.Lines()
			t := parseTables(text)
			tables = &t
			again = !t.complete && s.dropTextOption(r) || again
		}
		if wanted && err != nil {
			return nil, tables, err // the refusal is not the reason for the missing cards
		}
		if err != nil || !again || attempt == maxAttempts {
			return out, tables, err
		}
	}
}

// dropTextOption takes note of what to leave out of the call for text, whose output has no end. It reports whether there is such an option.
func (s *Source) dropTextOption(r *command.Result) bool {
	if refuse(textOptions, r.Stderr, s.refused) {
		return true
	}
	if r.ExitCode == 0 || s.refused[optionRAS] || !s.want.Has(gpu.GroupECC) {
		return false
	}
	s.refused[optionRAS] = true
	return true
}
