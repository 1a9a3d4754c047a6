// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapAliases(t *testing.T) {
	for alias, name := range map[string]string{
		"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id",
		"clocks_throttle_reasons.hw_slowdown": "clocks_event_reasons.hw_slowdown", "remapped_rows.sbe": "remapped_rows.correctable",
		"remapped_rows.dbe": "remapped_rows.uncorrectable", "gpu.power.draw.average": "power.draw.average",
		"gpu.power.draw.instant": "power.draw.instant", "gpu.power.requested_limit": "power.limit",
		"gpu.power.current_limit": "enforced.power.limit", "retired_pages.sbe": "retired_pages.single_bit_ecc.count",
	} {
		for _, column := range []string{alias, name} {
			value := map[bool]string{true: "GPU-1", false: "7"}[strings.HasSuffix(column, "uuid")]
			switch {
			case strings.HasSuffix(column, "bus_id"):
				value = "00000000:07:00.0"
			case strings.HasSuffix(column, "hw_slowdown"):
				value = "Active"
			}
			first, second := oneRow(t, "index, "+alias, "0, "+value), oneRow(t, "index, "+name, "0, "+value)
			assert.Equal(t, second, first, alias)
			assert.NotEqual(t, oneRow(t, "index", "0"), first, "%s is not read", column)
		}
	}
}

func TestTrapRowIndex(t *testing.T) {
	log, ok := QueryGPU(testdata(t, "csv/lost.csv"), nil)
	require.True(t, ok)
	require.True(t, log.Complete, "the message before the heading is no broken row")
	var indices []int
	for _, g := range log.GPUs {
		index, _ := g.Device.Index.Get()
		indices = append(indices, index)
	}
	assert.Equal(t, []int{0, 1, 3}, indices)
	assert.Empty(t, log.GPUs[2].Device.ID, "a reason is no UUID")
	assert.Empty(t, log.GPUs[2].Device.Model)
	assert.Equal(t, "0000:46:00.0", log.GPUs[2].Device.Info.PCIAddress)
}

func TestTrapRowWithoutIdentity(t *testing.T) {
	log, ok := QueryGPU([]byte("index, uuid, pci.bus_id, memory.used [MiB], name\n0, GPU-a, 00000000:0A:00.0, 0 MiB, A\n"+
		"[GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n2, GPU-c, 00000000:10:00.0, 0 MiB, A\n"), nil)
	require.True(t, ok)
	assert.True(t, log.Complete)
	require.Len(t, log.GPUs, 3)
	assert.Equal(t, gpu.Device{Vendor: gpu.NVIDIA, Faults: []gpu.Fault{{Type: gpu.FaultLost, Message: "GPU is lost"}}}, log.GPUs[1].Device)
}

func TestFieldsAreAllNamedAndOrdered(t *testing.T) {
	fields := Fields()
	seen := map[string]bool{}
	for _, f := range fields {
		for _, n := range f.Names {
			assert.False(t, seen[n], "%s is read twice", n)
			seen[n] = true
			assert.True(t, isName(n), n)
		}
	}
	assert.Equal(t, "index", fields[0].Names[0], "a row must begin with a digit")
	assert.Equal(t, "name", fields[len(fields)-1].Names[0], "commas may stand in the last cell alone")
}
