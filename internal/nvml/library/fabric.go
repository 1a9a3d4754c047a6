// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

// FabricInfo is how a GPU is registered with the NVLink fabric: what the versions of nvmlDeviceGetGpuFabricInfo have in common.
type FabricInfo struct {
	Cluster       [16]byte
	Clique        uint32
	State         uint8  // NVML_GPU_FABRIC_STATE_*
	Status        Code   // of the registration, once it is completed
	HealthMask    uint32 // NVML_GPU_FABRIC_HEALTH_MASK_*; 0 if the version does not have it
	HealthSummary uint8  // NVML_GPU_FABRIC_HEALTH_SUMMARY_*; 0 if the version does not have it
}

// FabricInfo1 calls nvmlDeviceGetGpuFabricInfo.
func (d Device) FabricInfo1() (FabricInfo, Return) {
	i, ret := d.GetGpuFabricInfo()
	return FabricInfo{Cluster: i.ClusterUuid, Clique: i.CliqueId, State: i.State, Status: Code(i.Status)}, ret
}

// FabricInfo2 calls nvmlDeviceGetGpuFabricInfoV, version 2.
func (d Device) FabricInfo2() (FabricInfo, Return) {
	i, ret := d.GetGpuFabricInfoV().V2()
	return FabricInfo{
		Cluster: i.ClusterUuid, Clique: i.CliqueId, State: i.State, Status: Code(i.Status), HealthMask: i.HealthMask,
	}, ret
}

// FabricInfo3 calls nvmlDeviceGetGpuFabricInfoV, version 3.
func (d Device) FabricInfo3() (FabricInfo, Return) {
	i, ret := d.GetGpuFabricInfoV().V3()
	return FabricInfo{
		Cluster: i.ClusterUuid, Clique: i.CliqueId, State: i.State, Status: Code(i.Status),
		HealthMask: i.HealthMask, HealthSummary: i.HealthSummary,
	}, ret
}
