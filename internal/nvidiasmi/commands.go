// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// The commands. Every argument is a constant of this project, a name of parse.Fields, or a list of the indices of GPUs, which
// are small numbers. gpus are the indices of the GPUs to query; nil queries all.

func queryXML(gpus []int) command.Command  { return nvidiaSMI(gpus, "-q", "-x") }
func queryPmon(gpus []int) command.Command { return nvidiaSMI(gpus, "pmon", "-c", "1", "-s", "um") }
func queryHelp() command.Command           { return nvidiaSMI(nil, "--help-query-gpu") }
func queryList() command.Command           { return nvidiaSMI(nil, "-L") }

func queryGPU(gpus []int, fields []string) command.Command {
	return nvidiaSMI(gpus, "--query-gpu="+strings.Join(fields, ","), "--format=csv")
}

func queryApps(gpus []int) command.Command {
	return nvidiaSMI(gpus, "--query-compute-apps="+strings.Join(appColumns(), ","), "--format=csv")
}

func queryRows(gpus []int) command.Command {
	return nvidiaSMI(gpus, "--query-remapped-rows="+strings.Join(rowColumns(), ","), "--format=csv")
}

// queryIdentity queries what is read together with -L.
func queryIdentity(gpus []int) command.Command { return queryGPU(gpus, identityColumns()) }

func nvidiaSMI(gpus []int, args ...string) command.Command {
	if gpus != nil {
		var indices []string
		for _, n := range gpus {
			indices = append(indices, strconv.Itoa(n))
		}
		args = append(args, "-i", strings.Join(indices, ","))
	}
	return command.Command{Tool: command.NvidiaSMI, Args: args}
}

// appColumns start with a number, so that no row looks like a message, and end with the only text.
func appColumns() []string { return []string{"pid", "gpu_uuid", "used_memory", "process_name"} }

func rowColumns() []string {
	return []string{"gpu_uuid", "remapped_rows.correctable", "remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure"}
}

func identityColumns() []string { return []string{"index", "uuid", "compute_cap"} }

// purpose is what a command of a batch is run for.
type purpose uint8

const (
	forSelection purpose = iota // -L: whether the selection of GPUs still holds
	forGPUs                     // -q -x or --query-gpu
	forApps
	forPmon
	forList     // -L: indices and MIG devices
	forIdentity // table of identityColumns
	forSingle   // -q -x of one GPU
	forRows     // --query-remapped-rows
)

// batch is the commands of one Run and their purposes.
type batch struct {
	commands []command.Command
	purposes []purpose
}

func (b *batch) add(p purpose, c command.Command) {
	b.commands = append(b.commands, c)
	b.purposes = append(b.purposes, p)
}

func (b *batch) run(ctx context.Context, runner command.Runner) results {
	all, err := runner.Run(ctx, b.commands...)
	r := results{purposes: b.purposes, err: err}
	if err == nil && len(all) < len(b.commands) {
		r.err = errNoResult
	}
	r.results = all[:min(len(all), len(b.commands))]
	return r
}

// results are the results of a batch, up to the first command that could not be run.
type results struct {
	purposes []purpose
	results  []command.Result
	err      error // why the results of the other commands are missing
}

// find returns the result of the command with a purpose, or nil. queried reports whether the batch has such a command.
func (r *results) find(p purpose) (result *command.Result, queried bool) {
	for i := range r.purposes {
		if r.purposes[i] == p && i < len(r.results) {
			return &r.results[i], true
		}
		queried = queried || r.purposes[i] == p
	}
	return nil, queried
}

var (
	// errEndsEarly is reported if the tool did not print its output to the end.
	errEndsEarly = errors.New("the output ends early")
	errNoResult  = errors.New("nvidia-smi: the runner returned no result")
)

func diagnose(r *command.Result) parse.Diagnosis {
	return parse.Diagnose(r.Stdout, r.Stderr, r.ExitCode)
}
