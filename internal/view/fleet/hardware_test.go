// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// What the hardware reports of links, bus and memory, from the recorder's golden file of all metrics.
func TestHardware(t *testing.T) {
	gpus := map[string]*view.GPU{}
	for _, g := range onlyNode(t, goldenFleet(t, filepath.Join("..", "..", "record", "testdata", "full_node.yaml"))).GPUs {
		gpus[*g.Model] = g
	}
	h100, mi300x := gpus["NVIDIA H100 80GB HBM3"], gpus["AMD Instinct MI300X"]
	require.NotNil(t, h100)
	require.NotNil(t, mi300x)

	assert.Equal(t, view.Fabric{State: new("completed"), Conditions: []string{
		"access_timeout_recovery", "degraded_bandwidth", "incorrect_configuration", "limited_capacity", "route_recovery", "route_unhealthy", "unhealthy",
	}}, h100.Fabric)
	require.Len(t, h100.Interconnects, 1)
	assert.Equal(t, []*int{new(2), new(1)}, []*int{h100.Interconnects[0].LinksUp, h100.Interconnects[0].LinksDown})
	assert.Equal(t, map[string]float64{"max": 700, "high": 701, "partial": 702, "low": 703, "none": 704}, h100.MemoryBanks)
	assert.Equal(t, map[string]float64{"corrected": 600, "non_fatal": 601, "fatal": 602}, h100.PCIe.Errors)
	assert.Equal(t, map[string]float64{"corrected": 610, "non_fatal": 611, "fatal": 612}, h100.PCIe.PortErrors)
	assert.Equal(t, []string{"compute", "ecc", "gsp", "mig", "persistence", "virtualization"}, h100.PendingModes)
	assert.Equal(t, view.BadPages{Count: new(16.0), Limit: new(256.0)}, mi300x.BadPages)

	// What a GPU lacks is absent.
	assert.Equal(t, view.BadPages{}, h100.BadPages)
	assert.Equal(t, view.Fabric{Conditions: []string{}}, mi300x.Fabric)
	assert.Equal(t, map[string]float64{}, mi300x.MemoryBanks)
	assert.Equal(t, map[string]float64{}, mi300x.PCIe.Errors)
	require.Len(t, mi300x.Interconnects, 1)
	assert.Nil(t, mi300x.Interconnects[0].LinksUp)
}
