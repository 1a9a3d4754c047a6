// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestXGMIMissingForOneRead: a link or a direction that one table lacks drops neither the other direction nor the total, and no counter
// falls.
func TestXGMIMissingForOneRead(t *testing.T) {
	var x xgmiLinks
	read := func(change func(*gpumetrics.Table)) gpu.Interconnect {
		var table gpumetrics.Table
		for i := range 2 {
			table.XGMIRead[i], table.XGMIWritten[i] = gpu.Some(uint64(10+i)), gpu.Some(uint64(20+i))
		}
		change(&table)
		var d gpu.Device
		x.set(xgmiGroups, &table, &d)
		return d.Interconnect
	}
	none := gpu.Opt[uint64]{}
	total := func(kib int64) gpu.Counter[int64] { return gpu.Total(kib * kibi) }
	whole := gpu.Interconnect{Type: gpu.XGMI, Received: total(21), Transmitted: total(41), Links: []gpu.Link{
		{Name: "0", Received: total(10), Transmitted: total(20)}, {Name: "1", Received: total(11), Transmitted: total(21)},
	}}
	assert.Equal(t, whole, read(func(*gpumetrics.Table) {}))

	direction := read(func(table *gpumetrics.Table) { table.XGMIWritten[1] = none })
	assert.Equal(t, total(21), direction.Received)
	assert.Equal(t, total(41), direction.Transmitted)
	assert.Equal(t, []gpu.Link{whole.Links[0], {Name: "1", Received: total(11)}}, direction.Links)

	link := read(func(table *gpumetrics.Table) { table.XGMIRead[0], table.XGMIWritten[0] = none, none })
	assert.Equal(t, total(21), link.Received)
	assert.Equal(t, total(41), link.Transmitted)
	assert.Equal(t, whole.Links[1:], link.Links)

	assert.Empty(t, read(func(table *gpumetrics.Table) { *table = gpumetrics.Table{} }), "nothing was read")
	assert.Equal(t, whole, read(func(*gpumetrics.Table) {}))
}

// TestXGMISum: a table may have a sum in place of the links.
func TestXGMISum(t *testing.T) {
	var x xgmiLinks
	var d gpu.Device
	x.set(xgmiGroups, &gpumetrics.Table{XGMIReadSum: gpu.Some[uint64](3), XGMIWrittenSum: gpu.Some[uint64](4)}, &d)
	assert.Equal(t, gpu.Interconnect{Type: gpu.XGMI, Received: gpu.Total[int64](3 * kibi), Transmitted: gpu.Total[int64](4 * kibi)}, d.Interconnect)
}

// TestXGMIStates: a link that is down is reported if some link was ever up, or had bytes: otherwise the GPU has no neighbours.
func TestXGMIStates(t *testing.T) {
	var table gpumetrics.Table
	table.XGMIWidth, table.XGMISpeed = gpu.Some[uint64](16), gpu.Some[uint64](32)
	table.XGMIUp[0], table.XGMIUp[1] = gpu.Some(false), gpu.Some(false)
	table.XGMIRead[1] = gpu.Some[uint64](0)
	var x xgmiLinks
	read := func(want gpu.Group) gpu.Interconnect {
		var d gpu.Device
		x.set(want, &table, &d)
		return d.Interconnect
	}
	assert.Empty(t, read(gpu.GroupInterconnectState).Links, "it has no neighbours")
	table.XGMIUp[1] = gpu.Some(true)
	down := gpu.Link{Name: "0", Up: gpu.Some(false)}
	assert.Equal(t, gpu.Interconnect{Type: gpu.XGMI, Links: []gpu.Link{down, {Name: "1", Up: gpu.Some(true)}}}, read(gpu.GroupInterconnectState))
	assert.Equal(t, []gpu.Link{{Name: "1", Width: gpu.Some[int64](16), Bandwidth: gpu.Some(64e9)}}, read(gpu.GroupInterconnectSpeed).Links,
		"a link that is down has no speed")
	table.XGMIUp[1] = gpu.Some(false)
	assert.Equal(t, []gpu.Link{down, {Name: "1", Up: gpu.Some(false)}}, read(gpu.GroupInterconnectState).Links, "it had neighbours")
	assert.Empty(t, read(gpu.GroupInterconnectLinks).Links[0].Up, "what is not wanted is not reported")

	table.XGMIUp = [gpumetrics.MaxLinks]gpu.Opt[bool]{} // tables up to 1.6
	assert.Equal(t, []gpu.Link{{Name: "1", Width: gpu.Some[int64](16), Bandwidth: gpu.Some(64e9)}}, read(gpu.GroupInterconnectSpeed).Links)
	for _, none := range []uint64{0, 1 << 40} {
		table.XGMIWidth = gpu.Some(none)
		assert.Empty(t, read(gpu.GroupInterconnectSpeed).Links, "%d lanes", none)
		table.XGMIWidth, table.XGMISpeed = gpu.Some[uint64](16), gpu.Some(none)
		assert.Equal(t, []gpu.Link{{Name: "1", Width: gpu.Some[int64](16)}}, read(gpu.GroupInterconnectSpeed).Links, "%d Gbit/s", none)
	}
}
