// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func fabricGPU(t *testing.T, elements string) *GPU {
	t.Helper()
	return oneGPU(t, "<fabric>"+elements+"</fabric>")
}

func TestFabricStates(t *testing.T) {
	for printed, want := range map[string]gpu.Opt[gpu.FabricState]{
		"Not Started": gpu.Some(gpu.FabricNotStarted), "In Progress": gpu.Some(gpu.FabricInProgress), "Completed": gpu.Some(gpu.FabricCompleted),
		"IN_PROGRESS": gpu.Some(gpu.FabricInProgress), "Not Supported": {}, "N/A": {}, "": {}, "Unknown Error": {}, "Fresh Word": {},
	} {
		g := fabricGPU(t, "<state>"+printed+"</state><status>N/A</status>")
		assert.Equal(t, gpu.Fabric{State: want}, g.Device.Fabric, printed)
		assert.Equal(t, printed == "Unknown Error" || printed == "Fresh Word", len(g.Refusals) == 1, printed)
	}
}

// A registration that failed has a reason. What else is printed then means nothing.
func TestFabricThatFailed(t *testing.T) {
	const rest = "<cliqueId>0</cliqueId><clusterUuid>" + noCluster + "</clusterUuid><health><bandwidth>Degraded</bandwidth></health>"
	g := fabricGPU(t, "<state>Completed</state><status>Insufficient Resources</status>"+rest)
	assert.Equal(t, gpu.Fabric{State: gpu.Some(gpu.FabricCompleted), Failure: "Insufficient Resources"}, g.Device.Fabric)
	assert.Empty(t, g.Device.Info.FabricClique)
	assert.Empty(t, g.Refusals, "the query did not fail")

	for _, status := range []string{"Unknown Error", "GPU is lost"} {
		g = fabricGPU(t, "<state>Completed</state><status>"+status+"</status>")
		assert.Equal(t, status, g.Device.Fabric.Failure)
		assert.False(t, g.Unreadable, "the status is that of the registration")
	}
	g = fabricGPU(t, "<state>In Progress</state><status>Unknown Error</status>"+rest)
	assert.Equal(t, gpu.Fabric{State: gpu.Some(gpu.FabricInProgress)}, g.Device.Fabric, "it is not known how it will end")
	assert.Equal(t, gpu.Info{PCIAddress: "0000:07:00.0", DriverVersion: "580.1"}, g.Device.Info)
}

func TestFabricHealth(t *testing.T) {
	conditions := func(health string) map[gpu.FabricCondition]bool {
		g := fabricGPU(t, "<state>Completed</state><status>Success</status><health>"+health+"</health>")
		known := map[gpu.FabricCondition]bool{}
		for c, o := range g.Device.Fabric.Conditions {
			if v, ok := o.Get(); ok {
				known[gpu.FabricCondition(c)] = v
			}
		}
		return known
	}
	type all = map[gpu.FabricCondition]bool
	assert.Equal(t, all{}, conditions("<summary>N/A</summary><bandwidth>N/A</bandwidth><route_unhealthy>N/A</route_unhealthy>"))
	assert.Equal(t, all{gpu.FabricUnhealthy: false, gpu.FabricLimitedCapacity: false}, conditions("<summary>Healthy</summary>"))
	assert.Equal(t, all{gpu.FabricUnhealthy: true, gpu.FabricLimitedCapacity: false}, conditions("<summary>Unhealthy</summary>"))
	assert.Equal(t, all{gpu.FabricUnhealthy: false, gpu.FabricLimitedCapacity: true}, conditions("<summary>Limited Capacity</summary>"))
	assert.Equal(t, all{gpu.FabricDegradedBandwidth: false, gpu.FabricRouteRecovery: true, gpu.FabricAccessTimeoutRecovery: true},
		conditions("<bandwidth>Full</bandwidth><route_recovery_in_progress>True</route_recovery_in_progress><access_timeout_recovery>True</access_timeout_recovery>"))
	for printed, want := range map[string]all{
		"None": {gpu.FabricIncorrectConfiguration: false}, "Incorrect SystemGUID": {gpu.FabricIncorrectConfiguration: true},
		"Insufficient NVLinks": {gpu.FabricIncorrectConfiguration: true}, "N/A": {}, "[N/A]": {}, "Not Supported": {}, "Unknown Error": {}, "": {},
	} {
		assert.Equal(t, want, conditions("<incorrect_configuration>"+printed+"</incorrect_configuration>"), printed)
	}
}

// A table has the same words as XML.
func TestFabricOfATable(t *testing.T) {
	g := oneRow(t, "uuid, fabric.state, fabric.status, fabric.cliqueId, fabric.clusterUuid, fabric.health.bandwidth, fabric.health.route_unhealthy",
		"GPU-1, Completed, Success, 3, 0a1b2c3d-1111-4222-8333-444455556666, Degraded, False")
	want := gpu.Fabric{State: gpu.Some(gpu.FabricCompleted)}
	want.Conditions[gpu.FabricDegradedBandwidth] = gpu.Some(true)
	want.Conditions[gpu.FabricRouteUnhealthy] = gpu.Some(false)
	assert.Equal(t, want, g.Device.Fabric)
	assert.Equal(t, "3", g.Device.Info.FabricClique)
	assert.Equal(t, "0a1b2c3d-1111-4222-8333-444455556666", g.Device.Info.FabricCluster)

	g = oneRow(t, "uuid, fabric.state, fabric.status, fabric.cliqueId, fabric.clusterUuid", "GPU-1, Completed, Success, 0, "+noCluster)
	assert.Equal(t, "0", g.Device.Info.FabricClique)
	assert.Empty(t, g.Device.Info.FabricCluster, "a single machine is no cluster")
	g = oneRow(t, "uuid, fabric.state, fabric.status, fabric.cliqueId, fabric.clusterUuid", "GPU-1, N/A, N/A, N/A, N/A")
	assert.Equal(t, gpu.Fabric{}, g.Device.Fabric)
	assert.Empty(t, g.Refusals)
}

// The tables of driver 535 repeat the names of two columns in their cells.
func TestTrapFabricCellsWithTheirNames(t *testing.T) {
	for cells, want := range map[string]gpu.Fabric{
		"state  Completed, status Success":             {State: gpu.Some(gpu.FabricCompleted)},
		"state  In Progress, status N/A":               {State: gpu.Some(gpu.FabricInProgress)},
		"state  Completed, status Insufficient Memory": {State: gpu.Some(gpu.FabricCompleted), Failure: "Insufficient Memory"},
		"state  N/A, status N/A":                       {},
		"Completed, Success":                           {State: gpu.Some(gpu.FabricCompleted)},
	} {
		g := oneRow(t, "uuid, fabric.state, fabric.status", "GPU-1, "+cells)
		assert.Equal(t, want, g.Device.Fabric, cells)
		assert.Empty(t, g.Refusals, cells)
	}
}
