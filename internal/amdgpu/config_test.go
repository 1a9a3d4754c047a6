// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Check())
	assert.Equal(t, Config{RootPath: "/"}, cfg)
	for path, says := range map[string]string{"": "root_path: empty", "host": `root_path: "host" is not an absolute path`} {
		cfg := Config{RootPath: path}
		require.ErrorContains(t, cfg.Check(), says)
		_, err := New(cfg, gpu.GroupAll)
		require.Error(t, err)
	}
}
