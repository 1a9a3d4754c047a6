// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestFabric(t *testing.T) {
	well := gpu.Fabric{State: gpu.Some(gpu.FabricCompleted)}
	for c := range well.Conditions {
		well.Conditions[c] = gpu.Some(false)
	}
	fabric := func(conditions ...gpu.FabricCondition) gpu.Fabric {
		f := well
		for _, c := range conditions {
			f.Conditions[c] = gpu.Some(true)
		}
		return f
	}
	for name, tt := range map[string]struct {
		scenario string
		want     gpu.Fabric
		faulty   bool
	}{
		"well":                 {"", well, false},
		"not started":          {"fabric.state = 1", gpu.Fabric{State: gpu.Some(gpu.FabricNotStarted)}, false},
		"in progress":          {"fabric.state = 2\nfabric.status = 3", gpu.Fabric{State: gpu.Some(gpu.FabricInProgress)}, false},
		"registration failed":  {"fabric.status = 999", gpu.Fabric{State: gpu.Some(gpu.FabricCompleted), Failure: "unknown error in the driver"}, true},
		"no fabric":            {"fabric.state = 0", gpu.Fabric{}, false},
		"not supported":        {"fabric.state = unsupported", gpu.Fabric{}, false},
		"unknown state":        {"fabric.state = 9", gpu.Fabric{}, false},
		"degraded bandwidth":   {"fabric.health = 0x1a9", fabric(gpu.FabricDegradedBandwidth), true},
		"route recovery":       {"fabric.health = 0x1a6", fabric(gpu.FabricRouteRecovery), true},
		"route unhealthy":      {"fabric.health = 0x19a\nfabric.summary = 2", fabric(gpu.FabricRouteUnhealthy, gpu.FabricUnhealthy), true},
		"access timeout":       {"fabric.health = 0x16a", fabric(gpu.FabricAccessTimeoutRecovery), true},
		"incorrect system":     {"fabric.health = 0x2aa", fabric(gpu.FabricIncorrectConfiguration), true},
		"too few links":        {"fabric.health = 0x5aa\nfabric.summary = 3", fabric(gpu.FabricIncorrectConfiguration, gpu.FabricLimitedCapacity), true},
		"nothing is supported": {"fabric.health = 0\nfabric.summary = 0", gpu.Fabric{State: gpu.Some(gpu.FabricCompleted)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\n"+tt.scenario)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				d := gpuAt(t, n, 0)
				assert.Equal(t, tt.want, d.Fabric)
				d.AddFaultsOfReadings()
				assert.Equal(t, tt.faulty, d.State() == gpu.StateDegraded, "%v", d.Faults)
			}
		})
	}
}

// Drivers before 570 have no summary, those before 545 no health at all, and those before 520 no fabric.
func TestFabricOfOlderDrivers(t *testing.T) {
	const mismatch = "[fault f]\nfunction = nvmlDeviceGetGpuFabricInfoV\nreturn = ARGUMENT_VERSION_MISMATCH\n"
	for name, tt := range map[string]struct {
		fault            string
		bandwidth, state bool
	}{
		"before 570": {"fabric.version = 2", true, true},
		"before 545": {mismatch, false, true},
		"before 520": {mismatch + "[fault g]\nfunction = nvmlDeviceGetGpuFabricInfo\nreturn = NOT_SUPPORTED", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = h100\nfabric.health = 0x1a9\nfabric.summary = 2\n"+tt.fault)
			for range 2 {
				n := b.read()
				assert.Empty(t, n.Problems)
				f := gpuAt(t, n, 0).Fabric
				assert.Equal(t, tt.state, f.State.Known())
				degraded, _ := f.Conditions[gpu.FabricDegradedBandwidth].Get()
				assert.Equal(t, tt.bandwidth, degraded)
				assert.False(t, f.Conditions[gpu.FabricUnhealthy].Known())
			}
		})
	}
}

func TestFabricIdentity(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nfabric.clique = 32766\nfabric.cluster = 6f1c2a01-5eed-4a11-8c0d-0000c0ffee01")
	info := gpuAt(t, b.read(), 0).Info
	assert.Equal(t, [2]string{"32766", "6f1c2a01-5eed-4a11-8c0d-0000c0ffee01"}, [2]string{info.FabricClique, info.FabricCluster})
	b.set("[gpu 0]\nfabric.state = 2")
	info = gpuAt(t, b.read(), 0).Info
	assert.Equal(t, [2]string{}, [2]string{info.FabricClique, info.FabricCluster}, "it is not registered any more")
}

// The link to the CPU is queried once.
func TestC2CMode(t *testing.T) {
	for board, want := range map[string]string{"gh200": "enabled", "gh200\nc2c = 0": "disabled", "h100": ""} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+board)
			assert.Equal(t, want, gpuAt(t, b.read(), 0).Info.C2CMode)
		})
	}
}
