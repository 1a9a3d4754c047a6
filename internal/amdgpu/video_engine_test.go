// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestVideoEngine: from VCN 4 on one ring encodes and decodes, under the name of the earlier ring for encoding.
func TestVideoEngine(t *testing.T) {
	for version, encodes := range map[string]bool{"3": true, "4": false, "5": false, "": true} {
		t.Run("VCN "+version, func(t *testing.T) {
			m := amdgpusim.Radeon()
			tree, source, clock := simulate(t, m, onlyProcesses)
			if version != "" {
				dir := tree.Path(m.Cards[0].Dir() + "/ip_discovery/die/0/12/0")
				require.NoError(t, os.MkdirAll(dir, 0o750))
				require.NoError(t, os.WriteFile(dir+"/major", []byte(version+"\n"), 0o600))
			}
			rewrite(t, tree, 1201, 17, 91, amdgpusim.Engine("enc", 0))
			rewrite(t, tree, 1201, 18, 91)
			rewrite(t, tree, 1202, 5, 91)
			read(t, source)
			clock.pass(10 * time.Second)
			rewrite(t, tree, 1201, 17, 91, amdgpusim.Engine("enc", 4_000_000_000))
			node := read(t, source)
			require.Len(t, node.Processes, 1, "it uses the GPU")
			p := &node.Processes[0]
			if encodes {
				assert.Equal(t, gpu.Some(0.4), p.Utilization[gpu.TaskEncoder])
				assert.False(t, p.Utilization[gpu.TaskMedia].Known())
			} else {
				assert.Equal(t, gpu.Some(0.4), p.Utilization[gpu.TaskMedia])
				assert.False(t, p.Utilization[gpu.TaskEncoder].Known())
			}
			assert.False(t, p.Utilization[gpu.TaskDecoder].Known())
		})
	}
}
