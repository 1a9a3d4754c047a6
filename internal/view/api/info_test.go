// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func TestInfo(t *testing.T) {
	assert.True(t, decode[view.Info](t, get(t, "/api/v1/gpu/info")).Available)
	missing := decode[view.Info](t, get(t, "/api/v1/gpu/info?cluster=gone"))
	assert.False(t, missing.Available)
	assert.Equal(t, []string{"timeout"}, missing.Clusters[0].Sources[0].Reasons)
	assert.Equal(t, 404, get(t, "/api/v1/gpu/info?cluster=no").Code)
}
