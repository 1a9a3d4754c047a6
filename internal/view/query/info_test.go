// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestInfo(t *testing.T) {
	s := viewtest.Snapshot()
	info := Info(s, Scope{}, s.Nodes)
	assert.True(t, info.Available)
	assert.Equal(t, 9, info.GPUs)
	assert.Equal(t, 6, info.Nodes)
	assert.Len(t, info.Clusters, 4)
	assert.Equal(t, []string{"AMD", "NVIDIA"}, info.Vendors)
	assert.Equal(t, []view.Driver{{Vendor: "AMD", Version: "6.8.5"}, {Vendor: "NVIDIA", Version: "550.54.15"}, {Vendor: "NVIDIA", Version: "580.65.06"}}, info.Drivers)
	require.Len(t, info.Sources, 6)
	assert.Equal(t, "unread", *info.Sources[5].Node)
	assert.Equal(t, []string{"timeout"}, info.Sources[5].Reasons)

	missing := Scope{Cluster: "gone"}
	nodes, err := Select(s, missing)
	require.NoError(t, err)
	info = Info(s, missing, nodes)
	assert.False(t, info.Available)
	assert.Equal(t, []string{"timeout"}, info.Clusters[0].Sources[0].Reasons)
	assert.NotNil(t, info.Vendors)
	assert.NotNil(t, info.Drivers)
	assert.NotNil(t, info.Sources)
}
