// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// The commands. Every argument is a constant of this project, the name of one of parse.Fields, or a list of the GPUs' indices,
// which are small numbers.

func queryXML(of selection) command.Command  { return of.call("-q", "-x") }
func queryPmon(of selection) command.Command { return of.call("pmon", "-c", "1", "-s", "um") }
func queryHelp() command.Command             { return selection(nil).call("--help-query-gpu") }
func queryList() command.Command             { return selection(nil).call("-L") }

func queryGPU(of selection, names []string) command.Command {
	return of.call("--query-gpu="+strings.Join(names, ","), "--format=csv")
}

func queryApps(of selection) command.Command {
	return of.call("--query-compute-apps="+strings.Join(appColumns(), ","), "--format=csv")
}

// listingCommands are run where the layout has changed.
func listingCommands(of selection) []command.Command {
	return []command.Command{queryList(), queryGPU(of, identityColumns())}
}

// selection is the indices of the GPUs of which a call is to tell; nil for all. A GPU without a handle makes a call for all
// of them end without a word about the others.
type selection []int

func (of selection) call(args ...string) command.Command {
	if of != nil {
		indices := make([]string, len(of))
		for i, n := range of {
			indices[i] = strconv.Itoa(n)
		}
		args = append(args, "-i", strings.Join(indices, ","))
	}
	return command.Command{Tool: command.NvidiaSMI, Args: args}
}

// appColumns begin with a number, so that no row looks like a message, and end with the only text.
func appColumns() []string { return []string{"pid", "gpu_uuid", "used_memory", "process_name"} }

func identityColumns() []string { return []string{"index", "uuid", "compute_cap"} }

// stdoutAt returns what the i-th command printed, without a last line that was cut off; nil where it was not run.
func stdoutAt(results []command.Result, i int) []byte {
	if i >= len(results) {
		return nil
	}
	out := results[i].Stdout
	if results[i].Truncated {
		out = out[:lastLineEnd(out)]
	}
	return out
}

func lastLineEnd(b []byte) int {
	for i := len(b); i > 0; i-- {
		if b[i-1] == '\n' {
			return i
		}
	}
	return 0
}
