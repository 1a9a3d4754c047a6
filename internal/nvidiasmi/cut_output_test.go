// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/differential"
)

// The output of a tool that crashes ends anywhere, mostly in the middle of a number. Whatever a call's output is cut down to, what
// is read from it equals what the whole output says, or is absent. GPUs that were read before are not
// lost because of it.
func TestCutOutput(t *testing.T) {
	fast := func(t *testing.T) *tool {
		f := tableTool(t, allNames())
		// Calls that list the same process print the same values, so that one can replace the other.
		f.apps = answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n100, GPU-a, 498 MiB, python3\n101, GPU-b, 30 MiB, tool\n"}
		return f
	}
	for name, c := range map[string]struct {
		query string
		tool  func(*testing.T) *tool
		call  func(*tool) *answer
	}{
		"XML":                     {QueryFull, h100Tool, func(f *tool) *answer { return &f.xml }},
		"XML with MIG":            {QueryFull, migTool, func(f *tool) *answer { return &f.xml }},
		"list with MIG":           {QueryFull, migTool, func(f *tool) *answer { return &f.list }},
		"table of identities":     {QueryFull, h100Tool, func(f *tool) *answer { return &f.identity }},
		"pmon":                    {QueryFull, h100Tool, func(f *tool) *answer { return &f.pmon }},
		"table":                   {QueryFast, fast, nil},
		"table of processes":      {QueryFast, fast, func(f *tool) *answer { return &f.apps }},
		"pmon beside a table":     {QueryFast, fast, func(f *tool) *answer { return &f.pmon }},
		"XML of the device nodes": {QueryFast, fast, func(f *tool) *answer { return &f.xml }},
	} {
		t.Run(name, func(t *testing.T) {
			// cutTool returns a tool that prints all, a function that cuts its output, and the whole output.
			cutTool := func() (f *tool, cut func(n, exit int), whole string) {
				f = c.tool(t)
				if c.query == QueryFull {
					f.table = nil // it would replace the XML
				}
				f.identity = answer{stdout: "index, uuid, compute_cap\n0, " + h100First + ", 9.0\n1, " + h100Second + ", 10.0\n"}
				if c.call == nil {
					table := f.table
					return f, func(n, exit int) {
						f.table = func(fields []string) answer {
							return answer{stdout: table(fields).stdout[:n], exit: exit}
						}
					}, table(allNames()).stdout
				}
				a := c.call(f)
				whole = a.stdout
				return f, func(n, exit int) { a.stdout, a.exit = whole[:n], exit }, whole
			}
			f, _, text := cutTool()
			whole := differential.Flatten(read(t, newReader(t, c.query, f, newClock())))
			for n := range text {
				if end := n > 0 && text[n-1] == '\n'; !end && n%(3+len(text)/50) > 0 {
					continue
				}
				for _, exit := range []int{0, -1} {
					f, cut, _ := cutTool()
					cut(n, exit)
					if node, err := newReader(t, c.query, f, newClock()).Read(t.Context()); err == nil {
						noOther(t, fmt.Sprintf("%d of %d bytes, exit code %d", n, len(text), exit), whole, node)
					}
				}
				f, cut, _ := cutTool()
				clock := newClock()
				r := newReader(t, c.query, f, clock)
				read(t, r)
				cut(n, -1)
				clock.pass(deviceListAge)
				if node, err := r.Read(t.Context()); err == nil {
					noOther(t, fmt.Sprintf("%d of %d bytes, after the whole", n, len(text)), whole, node)
				}
			}
		})
	}
}

// noOther fails the test if a node has a value that differs from the one in the whole output. Only absent values are allowed.
func noOther(t *testing.T, place string, whole differential.Values, node *gpu.Node) {
	t.Helper()
	if node.Presence[gpu.Visible] == gpu.Some(int64(0)) {
		return
	}
	for name, v := range differential.Flatten(node) {
		id, quantity, _ := strings.Cut(name, " ")
		instance := strings.HasPrefix(id, a100MIG+"/") // one whose UUID is not known
		if instance || quantity == "ProcessesUnread" || quantity == "Unread" || strings.HasPrefix(name, "node Presence") {
			continue
		}
		require.Equal(t, whole[name], v, "%s: %s", place, name)
	}
}

// A tool that crashes after its last line has printed all GPUs if it lists as many as the driver counts.
func TestCrashAtTheEnd(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.exit = -1
		return a
	}
	node := read(t, newReader(t, QueryFast, f, newClock()))
	require.Equal(t, counts(2, 0), presence(node))
	require.NotContains(t, problems(node), "ends early")
}
