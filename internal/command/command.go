// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package command runs the vendors' tools: a fixed name in fixed places, fixed arguments, bounded time and bounded output.
package command

import (
	"bytes"
	"context"
	"errors"
)

// Tool is a known tool. No other program can be run.
type Tool string

// The tools, by the names of their executables.
const (
	NvidiaSMI Tool = "nvidia-smi"
	ROCmSMI   Tool = "rocm-smi"
	AMDSMI    Tool = "amd-smi"
)

// Environment returns the environment variables of a tool wherever it runs: English, and a point in numbers. For nvidia-smi it
// makes pmon list all GPUs; by default pmon stops at the first 4 or 16 of them, depending on the version.
func (t Tool) Environment() []string {
	if t == NvidiaSMI {
		return []string{"LC_ALL=C", "NVSMI_SHOW_ALL_DEVICES=1"}
	}
	return []string{"LC_ALL=C"}
}

// The reasons why a tool has no result. Every Runner wraps the one that applies. Any other error means that the machine on which the tool
// runs could not be reached, which says nothing about the tool.
var (
	// ErrNotFound is returned if the tool is missing or cannot be started.
	ErrNotFound = errors.New("tool not found")
	// ErrShortage is returned if this machine has no process or file descriptor left to start the tool.
	ErrShortage = errors.New("the collector cannot start a process")
	// ErrTimeout is returned if the tool did not end in time.
	ErrTimeout = errors.New("tool did not end in time")
	// ErrBusy is returned if an earlier call has not ended. A second one is not started beside it.
	ErrBusy = errors.New("tool still running")
)

// Command is one call of a tool. Arguments are constants of this project or numbers whose range was checked. They are never text
// from a configuration or from the output of a tool.
type Command struct {
	Tool Tool
	Args []string
}

// Result is what a tool that ended has printed.
type Result struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int // -1 if a signal terminated the tool
	// Truncated is true if the tool printed more than the limit. Stdout then has the beginning, at most 1 MiB of it on this machine.
	Truncated bool
}

// Lines returns the complete lines that a tool has printed, and whether they are all of its output. All the tools end every line. Their
// output is buffered in blocks, and a tool that crashes does not print the last one: the output then ends in the middle of a line, and a
// number there may be truncated. Such a line is omitted.
func (r *Result) Lines() (lines []byte, whole bool) {
	end := bytes.LastIndexByte(r.Stdout, '\n') + 1
	return r.Stdout[:end], end == len(r.Stdout) && r.ExitCode >= 0 && !r.Truncated
}

// Runner runs commands on a machine: on this one, or in a driver pod. Run runs them one after the other and returns a result for each, in
// order. A nonzero exit code is in the Result and is not an error. An error means that a tool could not be run or did not end in time; the
// results before it are returned. Results are valid until the next Run.
type Runner interface {
	Run(ctx context.Context, commands ...Command) ([]Result, error)
}
