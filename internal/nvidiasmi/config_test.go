// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestConfig(t *testing.T) {
	cfg := DefaultConfig()
	require.NoError(t, cfg.Check())
	assert.Equal(t, QueryFull, cfg.Query)
	_, err := NewLocal(Config{Query: "quick"}, gpu.GroupAll)
	require.ErrorContains(t, err, `query: "quick" must be full or fast`)
	_, err = NewLocal(Config{Query: QueryFast, Path: "/usr/bin/true"}, gpu.GroupAll)
	require.ErrorContains(t, err, "path: ")
	r, err := NewLocal(Config{Query: QueryFast}, gpu.GroupAll)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}
