// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// recordings returns the files of recorded output in a directory. Recordings are not part of the project: GPU_RECORDINGS names their
// directory.
func recordings(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("GPU_RECORDINGS"), directory, "*"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no recordings: GPU_RECORDINGS names no directory with %s", directory)
	}
	return files
}

// node is an element as encoding/xml reads it, for comparison.
type node struct {
	name     string
	text     string
	children []*node
}

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (n *node) all(name string) (result []*node) {
	for _, c := range n.children {
		if c.name == name {
			result = append(result, c)
		}
	}
	return result
}

// valueAt returns the text of an element by its path.
func (n *node) valueAt(path string) (string, bool) {
	for name := range strings.SplitSeq(path, "/") {
		if n = n.child(name); n == nil {
			return "", false
		}
	}
	return strings.TrimSpace(n.text), true
}

func parseXML(t *testing.T, data []byte) *node {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(clean(data))))
	root := &node{}
	stack := []*node{root}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return root.child("nvidia_smi_log")
		}
		require.NoError(t, err)
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(token)
		}
	}
}

// printedNumber reads a number and its unit in the simplest way.
func printedNumber(s string) (value float64, unit string, ok bool) {
	s, unit, _ = strings.Cut(s, " ")
	s = strings.TrimPrefix(s, "P")
	if trimmed, exists := strings.CutSuffix(s, "x"); exists {
		s = trimmed
	}
	value, err := parseFloat(s)
	return value, unit, err == nil
}

func TestRecordedXML(t *testing.T) {
	for _, file := range recordings(t, "nvidia-smi-xml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := load(t, file)
			log, err := XML(data)
			require.NoError(t, err)
			root := parseXML(t, data)
			checkXML(t, root, log)
		})
	}
}

// redacted replaces a text that was removed from a recording.
const redacted = "[REDACTED]"

// checkXML compares a listing with the elements from which it was read.
func checkXML(t *testing.T, root *node, log *Listing) {
	t.Helper()
	assert.True(t, log.Complete)
	assert.Zero(t, log.Dropped)
	version, _ := root.valueAt("driver_version")
	assert.Equal(t, version, log.DriverVersion)
	gpus := root.all("gpu")
	require.Len(t, log.GPUs, len(gpus))
	numbers := 0
	for i, n := range gpus {
		g := &log.GPUs[i]
		assert.Equal(t, gpu.NVIDIA, g.Device.Vendor)
		for path, w := range xmlWords() {
			printed, ok := n.valueAt(path)
			if path == "board_part_number" && !ok { // old drivers
				printed, ok = n.valueAt("gpu_part_number")
				ok = ok && strings.HasPrefix(printed, "900-")
			}
			if ok && printed != "N/A" && printed != redacted {
				assert.Equal(t, printed, w(g), path)
			} else {
				assert.Empty(t, w(g), path)
			}
		}
		for path, q := range xmlNumbers() {
			numbers += checkNumber(t, n, path, q, g)
		}
		used, _ := n.valueAt("cc_protected_memory_usage/used")
		total, _ := n.valueAt("cc_protected_memory_usage/total")
		checkProtected(t, used, total, g)
		checkFlags(t, n, g)
		checkProcesses(t, n, g)
		for _, r := range g.Refusals {
			assert.Contains(t, []string{"Insufficient Permissions", "Unknown Error", strings.Trim(redacted, "[]")}, r.Reason, r.Quantity)
		}
	}
	assert.Greater(t, numbers, 5*len(gpus), "hardly a number was found to compare")
}

func checkNumber(t *testing.T, n *node, path string, q quantity, g *GPU) int {
	t.Helper()
	printed, _ := n.valueAt(path)
	value, unit, isNumber := printedNumber(printed)
	got, exists := q.get(g).Get()
	if !isNumber {
		if !q.shared {
			assert.False(t, exists, "%s is %q and came out as %v", path, printed, got)
		}
		return 0
	}
	factor, ok := q.units[unit]
	if !assert.True(t, ok, "%s: unit %q", path, unit) || !assert.True(t, exists, "%s is %q and came out absent", path, printed) {
		return 0
	}
	assert.InDelta(t, value*factor, got, 1e-9*max(1, value*factor), "%s is %q", path, printed)
	return 1
}

// checkProtected compares protected memory, which is absent if the GPU has no protected memory: every GPU prints 0 of 0 since driver 535.
func checkProtected(t *testing.T, used, total string, g *GPU) {
	t.Helper()
	value, _, isNumber := printedNumber(used)
	want := gpu.Opt[int64]{}
	if isNumber && total != "0 MiB" {
		want = gpu.Some(int64(value) << 20)
	}
	assert.Equal(t, want, g.Device.Memory.Protected, "%s of %s", used, total)
}

func checkFlags(t *testing.T, n *node, g *GPU) {
	t.Helper()
	words := map[string]bool{
		"Active": true, "Not Active": false, "Yes": true, "No": false, "Enabled": true, "Disabled": false,
		"True": true, "False": false, "Unhealthy": true, "Healthy": false, "Degraded": true, "Full": false,
	}
	for path, get := range xmlFlags() {
		printed, _ := n.valueAt(path)
		want, isFlag := words[printed]
		got, ok := get(g).Get()
		switch {
		case isFlag:
			assert.True(t, ok, "%s is %q and came out absent", path, printed)
			assert.Equal(t, want, got, path)
		case printed == "N/A":
			assert.False(t, ok, "%s is %q and came out as %t", path, printed, got)
		}
	}
	for reason := range g.Device.Throttle {
		old, renamed := n.child("clocks_throttle_reasons") != nil, n.child("clocks_event_reasons") != nil
		if !old && !renamed {
			assert.False(t, g.Device.Throttle[reason].Active.Known())
		}
	}
}

func checkProcesses(t *testing.T, n *node, g *GPU) {
	t.Helper()
	list := n.child("processes")
	if list == nil {
		assert.Empty(t, g.Processes)
		return
	}
	processes := list.all("process_info")
	require.Len(t, g.Processes, len(processes))
	for i, p := range processes {
		got := g.Processes[i]
		pid, _ := p.valueAt("pid")
		value, err := parseFloat(pid)
		require.NoError(t, err)
		assert.Equal(t, int64(value), got.PID)
		name, _ := p.valueAt("process_name")
		if name != "" && !strings.HasPrefix(name, "[") {
			assert.Equal(t, name, got.Name)
		}
		memory, _ := p.valueAt("used_memory")
		if mib, unit, ok := printedNumber(memory); ok {
			require.Equal(t, "MiB", unit)
			assert.Equal(t, gpu.Some(int64(mib)<<20), got.Memory)
		} else {
			assert.False(t, got.Memory.Known(), "used_memory is %q", memory)
		}
		kind, _ := p.valueAt("type")
		want := map[string]gpu.ProcessType{"C": gpu.ProcessCompute, "G": gpu.ProcessGraphics, "C+G": gpu.ProcessComputeGraphics, "M+C": gpu.ProcessMPS}
		assert.Equal(t, want[kind], got.Type)
	}
}
