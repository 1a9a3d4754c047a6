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

// Another container may have another version of the tool: what this one refuses, what it is and how its GPUs are numbered is found
// out anew, and a tool that said there is no driver is asked at once.
func TestReset(t *testing.T) {
	t.Parallel()
	type resetter interface {
		gpu.Source
		Reset()
	}
	each(t, func(t *testing.T, s gpu.Source, tool *fakeTool) {
		t.Helper()
		option := map[bool]string{true: " -f ", false: " --showfan "}
		_, amd := s.(*AMD)
		var asked []string
		answer, refuse := tool.answer, true
		tool.answer = func(args string) (command.Result, error) {
			asked = append(asked, args)
			switch {
			case !refuse || !strings.Contains(args, option[amd]):
				return answer(args)
			case amd:
				return prints(`{"error": "Parameter '-f' is invalid. Run '--help' for more info.", "code": -2}`)
			default:
				return fails(2, "", "rocm_smi.py: error: unrecognized arguments: --showfan\n")
			}
		}
		calls := func() string {
			asked = nil
			require.Len(t, read(t, s).Devices, 2)
			return strings.Join(asked, "\n")
		}
		_ = calls()
		require.NotContains(t, calls(), option[amd])
		refuse = false
		s.(resetter).Reset()
		again := calls()
		assert.Contains(t, again, option[amd], "it may know the option")
		if amd {
			assert.Contains(t, again, "version")
			assert.Contains(t, again, "static")
		}

		tool.answer = func(string) (command.Result, error) {
			return fails(255, "", "ERROR:root:Driver not initialized (amdgpu not found in modules)\n")
		}
		for range 4 {
			_, _ = s.Read(t.Context())
		}
		tool.answer = answer
		s.(resetter).Reset()
		assert.Empty(t, read(t, s).Devices[0].Faults)
	})
}
