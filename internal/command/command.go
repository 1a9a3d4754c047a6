// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package command runs the vendors' tools: a fixed name from fixed places, fixed arguments, bounded time and output.
package command

import (
	"bytes"
	"context"
	"errors"
)

// Tool is a known tool; there is no way to run another.
type Tool string

// The tools, by the name of their executable.
const (
	NvidiaSMI Tool = "nvidia-smi"
	ROCmSMI   Tool = "rocm-smi"
	AMDSMI    Tool = "amd-smi"
)

// Environment returns what a tool is to find in its environment wherever it runs: English and a point in numbers; and for
// nvidia-smi all GPUs in pmon, which else stops at the first 4 or 16 of them, by version.
func (t Tool) Environment() []string {
	if t == NvidiaSMI {
		return []string{"LC_ALL=C", "NVSMI_SHOW_ALL_DEVICES=1"}
	}
	return []string{"LC_ALL=C"}
}

// Why a tool gave no result. Every Runner wraps one of them where it applies; another error means that the place where the
// tool runs could not be reached, which says nothing of the tool.
var (
	// ErrNotFound: there is no such tool, or it is not one that can be started.
	ErrNotFound = errors.New("tool not found")
	// ErrTimeout: the tool ran, but did not end in time.
	ErrTimeout = errors.New("tool did not end in time")
	// ErrBusy: an earlier call has not ended, so that no other was started.
	ErrBusy = errors.New("tool still running")
)

// Command is one call of a tool. Arguments are constants of this project or numbers that were checked to be in range,
// never text from a configuration or from a tool's output.
type Command struct {
	Tool Tool
	Args []string
}

// Result is what a finished tool left.
type Result struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int // -1 where a signal ended the tool
	// Truncated tells that the tool wrote more than the bound; Stdout then holds the beginning.
	Truncated bool
}

// Lines returns the lines that a tool has printed, and whether they are all. All of the tools end every line, but what they print
// is kept back until it fills a block, of which a tool that crashes leaves the last one behind: what it has printed then ends in
// the middle of a line, that may be a shorter number than was meant. Such a line is left out.
func (r *Result) Lines() (lines []byte, whole bool) {
	end := bytes.LastIndexByte(r.Stdout, '\n') + 1
	return r.Stdout[:end], end == len(r.Stdout) && r.ExitCode >= 0 && !r.Truncated
}

// Runner runs commands somewhere: on this machine, or in a driver pod. Run runs them one after the other and returns one
// result for each, in order. A tool that ends with an exit code is no error, its Result tells; an error means that a tool
// could not be run or did not end in time, and the results before it are returned. Results are valid until the next Run.
type Runner interface {
	Run(ctx context.Context, commands ...Command) ([]Result, error)
}
