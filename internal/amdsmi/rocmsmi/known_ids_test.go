// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
)

// A GPU does not report its unique id while it is reset.
func TestKeepsIdentity(t *testing.T) {
	t.Parallel()
	text := `{"card0": {"Unique ID": "0xc", "PCI Bus": "0000:03:00.0"}, "card1": {"Unique ID": "0xd", "PCI Bus": "0000:04:00.0"}, ` +
		`"system": {"PID7": "a, 1, 4096, 0, 1"}}`
	const table = "=== GPUs Indexed by PID ===\nPID 7 is using 1 DRM device(s):\n0 \n=== End of ROCm SMI Log ===\n"
	tool := smitest.ROCmTool("", table)
	text0 := text
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "--json") {
			return smitest.Prints(text)
		}
		return smitest.Prints(table)
	}
	s := newTestSource(tool)
	both := []string{"000000000000000c", "000000000000000d"}
	require.Equal(t, both, smitest.IDs(smitest.Read(t, s)))
	text = strings.Replace(text0, "0xc", "N/A", 1)
	for range 3 {
		node := smitest.Read(t, s)
		require.Equal(t, both, smitest.IDs(node))
		require.Len(t, node.Processes, 1)
		assert.Equal(t, both[0], node.Processes[0].DeviceID)
		assert.Empty(t, smitest.Problems(node))
	}
	text = strings.Replace(text0, "0xc", "0xe", 1)
	assert.Equal(t, []string{"000000000000000e", "000000000000000d"}, smitest.IDs(smitest.Read(t, s)), "another GPU")

	// No id outlives the driver.
	text = "{}"
	assert.Len(t, smitest.Read(t, s).Devices, 2)
	text = strings.ReplaceAll(strings.Replace(text0, "0xc", "N/A", 1), "0xd", "N/A")
	assert.Equal(t, []string{"", ""}, smitest.IDs(smitest.Read(t, s)))
}
