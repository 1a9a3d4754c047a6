// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestRenamedNodes: in a container a DRM node may have any name (docker run --device /dev/dri/renderD129:/dev/dri/renderD128). The
// driver names its GPU.
func TestRenamedNodes(t *testing.T) {
	for name, path := range map[string]string{
		"that of another GPU":     "/dev/dri/renderD128",
		"that of no GPU of ours":  "/dev/dri/renderD140",
		"in another place":        "/host/dev/dri/renderD129",
		"that of another, a card": "/dev/dri/card0",
	} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.MI100()
			second := m.Cards[1]
			m.Processes = []amdgpusim.Process{{PID: 77, Name: "python3", Files: []amdgpusim.File{
				{FD: 5, Target: path, Client: &amdgpusim.Client{ID: 3, Address: second.Address, Keys: []string{
					amdgpusim.VRAM(1024), amdgpusim.Engine("compute", 1000),
				}}},
			}}}
			_, source, _ := simulate(t, m, onlyProcesses)
			node := read(t, source)
			require.Len(t, node.Processes, 1)
			assert.Equal(t, node.Devices[1].ID, node.Processes[0].DeviceID)
			assert.Equal(t, gpu.Some[int64](1<<20), node.Processes[0].Memory)
		})
	}
}

// TestRenamedPartitions: only its name shows which partition a node belongs to. A file whose name cannot belong to the GPU that the
// driver names is ignored. KFD shows its process.
func TestRenamedPartitions(t *testing.T) {
	m := amdgpusim.MI300XCPX()
	p := &m.Processes[1]
	require.NotEmpty(t, p.Compute)
	tree, source, _ := simulate(t, m, onlyProcesses)
	before := read(t, source).Processes
	for _, f := range p.Files {
		if f.Client != nil {
			link := tree.Path("proc/8003/fd/" + strconv.Itoa(f.FD))
			require.NoError(t, os.Remove(link))
			require.NoError(t, os.Symlink("/dev/dri/renderD190", link))
		}
	}
	var devices []string
	for _, p := range read(t, source).Processes {
		devices = append(devices, p.DeviceID)
	}
	require.Len(t, devices, 2)
	assert.Equal(t, []string{before[0].DeviceID, before[1].DeviceID}, devices)
}
