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

func counted(kind gpu.ErrorType, block string, n int64) gpu.ErrorCount {
	return gpu.ErrorCount{Type: kind, Block: block, Count: gpu.Total(n)}
}

// TestErrorCountsOfLaterDrivers: for MI300 and later the files of the counts have other names.
func TestErrorCountsOfLaterDrivers(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	tree, source, _ := simulate(t, m, gpu.GroupECC)
	ras := tree.Path(m.Cards[0].Dir() + "/ras")
	require.NoError(t, os.RemoveAll(ras))
	require.NoError(t, os.Mkdir(ras, 0o750))
	for name, text := range map[string]string{
		"aca_umc": "ue: 1\nce: 7\nde: 2\n", "aca_xgmi_wafl": "ue: 0\nce: 3\nde: 0\n", "features": "feature mask: 0x1fff\n",
		"gpu_vram_bad_pages": "0x1 : 0x1000 : R\n",
	} {
		require.NoError(t, os.WriteFile(ras+"/"+name, []byte(text), 0o600))
	}
	node := read(t, source)
	assert.Empty(t, node.Problems)
	want := []gpu.ErrorCount{
		counted(gpu.ErrorUncorrected, "umc", 1), counted(gpu.ErrorCorrected, "umc", 7), counted(gpu.ErrorDeferred, "umc", 2),
		counted(gpu.ErrorUncorrected, "xgmi_wafl", 0), counted(gpu.ErrorCorrected, "xgmi_wafl", 3),
		counted(gpu.ErrorDeferred, "xgmi_wafl", 0),
	}
	assert.Equal(t, want, node.Devices[0].Errors)

	// A block with both files counts once.
	require.NoError(t, os.WriteFile(ras+"/umc_err_count", []byte("ue: 1\nce: 7\nde: 2\n"), 0o600))
	source, err := New(Config{RootPath: tree.Root}, gpu.GroupECC)
	require.NoError(t, err)
	defer func() { assert.NoError(t, source.Close()) }()
	assert.Equal(t, want, read(t, source).Devices[0].Errors)
}

// TestErrorCountsWithheld: while the driver resets the GPU, it writes words in place of counts.
func TestErrorCountsWithheld(t *testing.T) {
	m := amdgpusim.MI100()
	tree, source, _ := simulate(t, m, gpu.GroupECC)
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/ras/umc_err_count"), []byte("Query currently inaccessible\n"), 0o600))
	node := read(t, source)
	assert.Equal(t, []string{"errors"}, whats(node, node.Devices[0].ID))
	require.ErrorContains(t, node.Problems[0].Err, "ras/umc_err_count: device or resource busy; the GPU is busy with a reset")
}
