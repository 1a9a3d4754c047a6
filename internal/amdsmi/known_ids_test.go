// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestKnownIDs(t *testing.T) {
	t.Parallel()
	at := func(bus, function uint32, unique string) entry {
		return entry{address: address{bus: bus, function: function}, unique: unique}
	}
	for _, tt := range []struct {
		name          string
		before, after []entry
		want          []string
	}{
		{"not told", []entry{at(3, 0, "c"), at(4, 0, "d")}, []entry{at(3, 0, ""), at(4, 0, "")}, []string{"c", "d"}},
		{"another is told", []entry{at(3, 0, "c")}, []entry{at(3, 0, "e")}, []string{"e"}},
		{"another address", []entry{at(3, 0, "c")}, []entry{at(5, 0, "")}, []string{""}},
		{"told elsewhere", []entry{at(3, 0, "c")}, []entry{at(3, 0, ""), at(5, 0, "c")}, []string{"", "c"}},
		{"told without an address", []entry{at(3, 0, "c")}, []entry{at(3, 0, ""), {unique: "c"}}, []string{"", "c"}},
		{"never told", []entry{at(3, 0, "")}, []entry{at(3, 0, "")}, []string{""}},
		{"no address", []entry{{unique: "c"}}, []entry{{}}, []string{""}},
		{"a partition", []entry{at(3, 0, "c"), at(3, 1, "c")}, []entry{at(3, 0, ""), at(3, 1, "c")}, []string{"c", "c"}},
		{"functions of a virtual machine", []entry{at(3, 0, "c"), at(3, 1, "d")}, []entry{at(3, 0, ""), at(3, 1, "d")}, []string{"c", "d"}},
		{"two of one id", []entry{at(3, 0, "c"), at(4, 0, "c")}, []entry{at(3, 0, ""), at(4, 0, "")}, []string{"c", "c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ids := make(knownIDs)
			ids.complete(tt.before, true)
			ids.complete(tt.after, true)
			got := make([]string, 0, len(tt.after))
			for i := range tt.after {
				got = append(got, tt.after[i].unique)
			}
			assert.Equal(t, tt.want, got)
		})
	}

	// What is gone from a complete list is forgotten; from half a list it may not be gone.
	for partly, want := range map[bool]string{false: "", true: "c"} {
		ids := make(knownIDs)
		ids.complete([]entry{at(3, 0, "c")}, true)
		ids.complete([]entry{at(4, 0, "d")}, !partly)
		again := []entry{at(3, 0, "")}
		ids.complete(again, true)
		assert.Equal(t, want, again[0].unique)
	}
	ids := make(knownIDs)
	for i := range uint32(2 * maxDevices) {
		ids.complete([]entry{at(i+1, 0, "c")}, false)
		ids.complete([]entry{at(i+1, 0, formatUniqueID(uint64(i)))}, false)
	}
	assert.LessOrEqual(t, len(ids), maxDevices)
}

// A GPU that is being reset does not tell its unique id.
func TestROCmKeepsIdentity(t *testing.T) {
	t.Parallel()
	text := `{"card0": {"Unique ID": "0xc", "PCI Bus": "0000:03:00.0"}, "card1": {"Unique ID": "0xd", "PCI Bus": "0000:04:00.0"}, ` +
		`"system": {"PID7": "a, 1, 4096, 0, 1"}}`
	const table = "=== GPUs Indexed by PID ===\nPID 7 is using 1 DRM device(s):\n0 \n=== End of ROCm SMI Log ===\n"
	tool := rocmTool("", table)
	text0 := text
	tool.answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "--json") {
			return prints(text)
		}
		return prints(table)
	}
	s := testROCm(tool)
	both := []string{"000000000000000c", "000000000000000d"}
	require.Equal(t, both, ids(read(t, s)))
	text = strings.Replace(text0, "0xc", "N/A", 1)
	for range 3 {
		node := read(t, s)
		require.Equal(t, both, ids(node))
		require.Len(t, node.Processes, 1)
		assert.Equal(t, both[0], node.Processes[0].DeviceID)
		assert.Empty(t, problems(node))
	}
	text = strings.Replace(text0, "0xc", "0xe", 1)
	assert.Equal(t, []string{"000000000000000e", "000000000000000d"}, ids(read(t, s)), "another GPU")

	// Nothing of what was there outlives the driver.
	text = "{}"
	assert.Len(t, read(t, s).Devices, 2)
	text = strings.ReplaceAll(strings.Replace(text0, "0xc", "N/A", 1), "0xd", "N/A")
	assert.Equal(t, []string{"", ""}, ids(read(t, s)))
}

// static is read again now and then: where it fails, the GPUs stay who they are.
func TestAMDKeepsIdentity(t *testing.T) {
	t.Parallel()
	traceback := func(string) (command.Result, error) {
		return fails(1, "", "Traceback (most recent call last):\n  File\nKeyError: 'ppt0'\n")
	}
	for _, tt := range []struct {
		name, folder string
		refuse       []string
		want         []string
		static       func(whole string) (command.Result, error)
		problem      string
		anew         bool // with the next read
	}{
		{
			name: "exception, no id in the list", folder: "amd-smi-7.2-spx", want: []string{"00a1b2c3d4e5f607", ""},
			static: traceback, problem: "amd-smi static: ", anew: true,
		},
		{
			name: "exception, nothing in the list", folder: "amd-smi-24.5.2", refuse: []string{"-e", "--throttle"},
			want: []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, static: traceback, problem: "amd-smi static: ", anew: true,
		},
		{
			name: "half an output, nothing in the list", folder: "amd-smi-24.5.2", refuse: []string{"-e", "--throttle"},
			want: []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, problem: "static: output ends in the middle",
			static: func(whole string) (command.Result, error) { return fails(-1, whole[:len(whole)*3/4], "") },
		},
		{
			name: "no serial", folder: "amd-smi-7.2-spx", want: []string{"00a1b2c3d4e5f607", ""},
			static: func(whole string) (command.Result, error) {
				return prints(strings.Replace(whole, "0x00A1B2C3D4E5F607", "N/A", 1))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := amdTool(t, tt.folder, tt.refuse...)
			files := tool.answer
			fail := false
			tool.answer = func(args string) (command.Result, error) {
				if fail && strings.HasPrefix(args, "static") {
					return tt.static(fixture(t, tt.folder+"/static.json"))
				}
				return files(args)
			}
			s := testAMD(tool)
			before := read(t, s)
			require.Equal(t, tt.want, ids(before))
			model, capacity := before.Devices[0].Model, before.Devices[0].Power.Limit[gpu.LimitMax]
			assert.NotContains(t, problems(before), "static")
			for range staticEvery - 1 {
				require.Equal(t, tt.want, ids(read(t, s)))
			}
			fail = true
			var node *gpu.Node
			for i := range staticEvery + 2 {
				tool.runs = nil
				node = read(t, s)
				require.Equal(t, tt.want, ids(node), "read %d", i)
				assert.Equal(t, model, node.Devices[0].Model)
				assert.Equal(t, capacity, node.Devices[0].Power.Limit[gpu.LimitMax])
				requireValue(t, int64(2), node.Presence[gpu.Visible], "visible")
				if tt.problem != "" && i == 1 {
					assert.Contains(t, problems(node), tt.problem)
				}
				if tt.anew && i > 1 {
					assert.Contains(t, tool.runs[0], "static --json", "tried again at once")
				}
			}
			fail = false
			node = read(t, s)
			require.Equal(t, tt.want, ids(node))
			if tt.anew {
				assert.NotContains(t, problems(node), "static")
			}
		})
	}
}
