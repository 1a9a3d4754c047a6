// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"errors"
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

// appColumns begin with a number, so that no row looks like a message, and end with the only text.
func appColumns() []string { return []string{"pid", "gpu_uuid", "used_memory", "process_name"} }

func identityColumns() []string { return []string{"index", "uuid", "compute_cap"} }

// errEndsEarly: the tool did not come to the end of what it printed.
var errEndsEarly = errors.New("the output ends early")

// linesAt returns the lines that the i-th command printed; none where it was not run.
func linesAt(results []command.Result, i int) []byte {
	if i >= len(results) {
		return nil
	}
	lines, _ := results[i].Lines()
	return lines
}

// batch is the commands of one Run, and which of them is which; -1 where one is not in it.
type batch struct {
	commands                []command.Command
	list, apps, pmon, first int
}

func (b *batch) add(commands ...command.Command) (first int) {
	first = len(b.commands)
	b.commands = append(b.commands, commands...)
	return first
}
