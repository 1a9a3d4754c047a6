// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// -q -x of version 535 ends at the first GPU without a handle. Where there is no other kind, -L tells of the rest, one of which may
// have a handle and nothing else.
func TestEveryGPUIsLostAndOneIsTold(t *testing.T) {
	const (
		again = ": A GPU reset must occur before this GPU can be used again.\n\n.\n"
		lost  = ": GPU is lost.  Reboot the system to recover this GPU\n\n\n"
	)
	for name, tt := range map[string]struct {
		xml, list string
		want      [2]gpu.FaultType
	}{
		"reset": {
			"Unable to determine the device handle for GPU0" + again,
			"Unable to determine the device handle for gpu 0" + again + "Unable to determine the device handle for gpu 1" + again,
			[2]gpu.FaultType{gpu.FaultResetRequired, gpu.FaultResetRequired},
		},
		"one has a handle": {
			"Unable to determine the device handle for GPU1" + lost,
			"Unable to determine the product name for gpu \x90\xc3\x41: GPU requires reset\nUnable to determine the device handle for gpu 1" + lost,
			[2]gpu.FaultType{gpu.FaultResetRequired, gpu.FaultLost},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := h100Tool(t)
			r := newReader(t, QueryFull, f, newClock())
			read(t, r)
			f.xml, f.list = answer{stdout: tt.xml}, answer{stdout: tt.list}
			node := read(t, r)
			require.Len(t, node.Devices, 2)
			assert.Equal(t, counts(0, 2), presence(node))
			assert.Equal(t, []gpu.FaultType{tt.want[0]}, faults(deviceOf(t, node, h100First)))
			assert.Equal(t, []gpu.FaultType{tt.want[1]}, faults(deviceOf(t, node, h100Second)))
			assert.Equal(t, counts(0, 2), presence(read(t, newReader(t, QueryFull, f, newClock()))), "also if none was ever seen")
		})
	}
}
