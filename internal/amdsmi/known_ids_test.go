// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The GPUs keep their IDs if static fails when it is read again.
func TestKeepsIdentity(t *testing.T) {
	t.Parallel()
	traceback := func(string) (command.Result, error) {
		return smitest.Fails(1, "", "Traceback (most recent call last):\n  File\nKeyError: 'ppt0'\n")
	}
	for _, tt := range []struct {
		name, directory string
		refuse          []string
		want            []string
		static          func(whole string) (command.Result, error)
		problem         string
		again           bool // static is read again at the next read
	}{
		{
			name: "exception, no id in the list", directory: "amd-smi-7.2-spx", want: []string{"00a1b2c3d4e5f607", ""},
			static: traceback, problem: "amd-smi static: ", again: true,
		},
		{
			name: "exception, nothing in the list", directory: "amd-smi-24.5.2", refuse: []string{"-e", "--throttle"},
			want: []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, static: traceback, problem: "amd-smi static: ", again: true,
		},
		{
			name: "half an output, nothing in the list", directory: "amd-smi-24.5.2", refuse: []string{"-e", "--throttle"},
			want: []string{"5d1f00aa77c3e9b4", "02bb3344556677c1"}, problem: "static: output ends in the middle",
			static: func(whole string) (command.Result, error) { return smitest.Fails(-1, whole[:len(whole)*3/4], "") },
		},
		{
			name: "no serial", directory: "amd-smi-7.2-spx", want: []string{"00a1b2c3d4e5f607", ""},
			static: func(whole string) (command.Result, error) {
				return smitest.Prints(strings.Replace(whole, "0x00A1B2C3D4E5F607", "N/A", 1))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := smitest.AMDTool(t, tt.directory, tt.refuse...)
			files := tool.Answer
			fail := false
			tool.Answer = func(args string) (command.Result, error) {
				if fail && strings.HasPrefix(args, "static") {
					return tt.static(smitest.Fixture(t, tt.directory+"/static.json"))
				}
				return files(args)
			}
			s := newTestSource(tool)
			before := smitest.Read(t, s)
			require.Equal(t, tt.want, smitest.IDs(before))
			model, capacity := before.Devices[0].Model, before.Devices[0].Power.Limit[gpu.LimitEnforced]
			assert.NotContains(t, smitest.Problems(before), "static")
			for range staticEvery - 1 {
				require.Equal(t, tt.want, smitest.IDs(smitest.Read(t, s)))
			}
			fail = true
			var node *gpu.Node
			for i := range staticEvery + 2 {
				tool.Runs = nil
				node = smitest.Read(t, s)
				require.Equal(t, tt.want, smitest.IDs(node), "read %d", i)
				assert.Equal(t, model, node.Devices[0].Model)
				assert.Equal(t, capacity, node.Devices[0].Power.Limit[gpu.LimitEnforced])
				smitest.RequireValue(t, int64(2), node.Presence[gpu.Visible], "visible")
				if tt.problem != "" && i == 1 {
					assert.Contains(t, smitest.Problems(node), tt.problem)
				}
				if tt.again && i > 1 {
					assert.Contains(t, tool.Runs[0], "static --json", "tried again immediately")
				}
			}
			fail = false
			node = smitest.Read(t, s)
			require.Equal(t, tt.want, smitest.IDs(node))
			if tt.again {
				assert.NotContains(t, smitest.Problems(node), "static")
			}
		})
	}
}
