// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func TestWantedAlone(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), gpu.GroupMemory)
	read(t, source) // the identities
	read(t, source) // and again what did not exist
	var touched readNames
	source.readFile = touched.read
	node := read(t, source)
	d := &node.Devices[0]
	assert.True(t, d.Memory.Usage.Known())
	assert.True(t, d.ProcessesUnread)
	assert.NotEmpty(t, touched.names)
	for _, name := range touched.names {
		if name != "current_compute_partition" { // is it divided?
			assert.Contains(t, name, "mem_info_", "nothing else is read")
		}
	}
}

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Check())
	assert.Equal(t, Config{RootPath: "/"}, cfg)
	for path, says := range map[string]string{"": "root_path: empty", "host": `root_path: "host" is no absolute path`} {
		cfg := Config{RootPath: path}
		require.ErrorContains(t, cfg.Check(), says)
		_, err := New(cfg, gpu.GroupAll)
		require.Error(t, err)
	}
}

func TestModels(t *testing.T) {
	m := amdgpusim.Radeon()
	tree, source, _ := simulate(t, m, withoutProcesses)
	require.NoError(t, os.MkdirAll(tree.Path("usr/share/libdrm"), 0o750))
	require.NoError(t, os.WriteFile(tree.Path("usr/share/libdrm/amdgpu.ids"), []byte(
		"# ids\n1.0.0\n744C,\tC9,\tAnother\n744c,\tc8,\tA Radeon of the test\n"), 0o600))
	assert.Equal(t, "A Radeon of the test", read(t, source).Devices[0].Model)
	_, source, _ = simulate(t, amdgpusim.MI100(), withoutProcesses)
	assert.Equal(t, "AMD Instinct MI100", read(t, source).Devices[0].Model, "by its PCI id")
}
