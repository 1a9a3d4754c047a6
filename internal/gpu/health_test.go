// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFaultsOfReadings(t *testing.T) {
	fabric := func(change func(f *Fabric)) Device {
		d := Device{Fabric: Fabric{State: Some(FabricCompleted)}}
		for i := range d.Fabric.Conditions {
			d.Fabric.Conditions[i] = Some(false)
		}
		change(&d.Fabric)
		return d
	}
	pages := func(bad, limit Opt[int64]) Device {
		return Device{RetiredPages: RetiredPages{Bad: bad, BadLimit: limit}}
	}
	for name, c := range map[string]struct {
		device Device
		want   []Fault
	}{
		"nothing read":   {Device{}, nil},
		"healthy fabric": {fabric(func(*Fabric) {}), nil},
		"registers":      {fabric(func(f *Fabric) { f.State = Some(FabricInProgress) }), nil},
		"registration failed": {
			fabric(func(f *Fabric) { f.Failure = "not found" }),
			[]Fault{{FaultFabric, "NVLink fabric: its registration failed: not found"}},
		},
		"conditions": {
			fabric(func(f *Fabric) {
				f.Conditions[FabricDegradedBandwidth], f.Conditions[FabricRouteUnhealthy] = Some(true), Some(true)
			}),
			[]Fault{{FaultFabric, "NVLink fabric: less bandwidth than it should have, a route is unhealthy"}},
		},
		"SRAM below the threshold": {Device{ECC: ECC{SRAMThresholdExceeded: Some(false)}}, nil},
		"SRAM": {
			Device{ECC: ECC{SRAMThresholdExceeded: Some(true)}},
			[]Fault{{FaultSRAMThreshold, "its SRAM reported more uncorrectable errors than the vendor allows"}},
		},
		"bad pages below the limit": {pages(Some[int64](255), Some[int64](256)), nil},
		"bad pages": {
			pages(Some[int64](256), Some[int64](256)),
			[]Fault{{FaultBadPageThreshold, "256 pages of its memory are bad; it should be replaced at 256"}},
		},
		"no limit":       {pages(Some[int64](256), Opt[int64]{}), nil},
		"a limit of 0":   {pages(Some[int64](0), Some[int64](0)), nil},
		"unknown number": {pages(Opt[int64]{}, Some[int64](256)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.device.AddFaultsOfReadings()
			assert.Equal(t, c.want, c.device.Faults)
			c.device.AddFaultsOfReadings()
			assert.Len(t, c.device.Faults, len(c.want), "each once")
		})
	}
}

func TestEachFabricConditionIsAFault(t *testing.T) {
	seen := map[string]bool{}
	for i := range NumFabricConditions {
		var d Device
		d.Fabric.Conditions[i] = Some(true)
		d.AddFaultsOfReadings()
		assert.Len(t, d.Faults, 1)
		assert.False(t, seen[d.Faults[0].Message], d.Faults[0].Message)
		assert.NotEqual(t, "NVLink fabric: ", d.Faults[0].Message)
		seen[d.Faults[0].Message] = true
	}
}
