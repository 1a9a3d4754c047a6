// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package podresources

import podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

// Allocation is one device that the kubelet has allocated to a container. It has either an ID or Dynamic.
type Allocation struct {
	Namespace, Pod, Container string

	Resource string // the resource's name; empty if Dynamic is set
	ID       string // the device's ID as its device plugin writes it
	Dynamic  *Dynamic
}

// Dynamic is a device allocated by dynamic resource allocation (DRA).
type Dynamic struct {
	ClaimNamespace, Claim string
	Driver, Pool, Device  string   // the device, as in a ResourceSlice
	Share                 string   // the ID of a share of the device, if it is divided among claims
	CDI                   []string // the qualified names of its CDI devices
}

// allocations returns the allocations in a response, each once: the kubelet repeats a device for each NUMA node of the device.
func allocations(response *podresourcesv1.ListPodResourcesResponse) []Allocation {
	var all []Allocation
	for _, pod := range response.GetPodResources() {
		for _, container := range pod.GetContainers() {
			begin := len(all)
			for _, devices := range container.GetDevices() {
				for _, id := range devices.GetDeviceIds() {
					a := Allocation{
						Namespace: pod.GetNamespace(), Pod: pod.GetName(), Container: container.GetName(),
						Resource: devices.GetResourceName(), ID: id,
					}
					if !repeated(all[begin:], &a) {
						all = append(all, a)
					}
				}
			}
			for _, dynamic := range container.GetDynamicResources() {
				claims := dynamic.GetClaimResources()
				for i, claimed := range claims {
					var before *podresourcesv1.ClaimResource
					if i > 0 {
						before = claims[i-1]
					}
					all = append(all, Allocation{
						Namespace: pod.GetNamespace(), Pod: pod.GetName(), Container: container.GetName(),
						Dynamic: newDynamic(dynamic, claimed, before),
					})
				}
			}
		}
	}
	return all
}

func repeated(list []Allocation, a *Allocation) bool {
	for i := range list {
		if list[i].ID == a.ID && list[i].Resource == a.Resource {
			return true
		}
	}
	return false
}

// newDynamic returns a claim's device. before is the previous device of the same claim.
func newDynamic(dynamic *podresourcesv1.DynamicResource, claimed, before *podresourcesv1.ClaimResource) *Dynamic {
	d := &Dynamic{
		ClaimNamespace: dynamic.GetClaimNamespace(), Claim: dynamic.GetClaimName(),
		Driver: claimed.GetDriverName(), Pool: claimed.GetPoolName(), Device: claimed.GetDeviceName(),
		Share: claimed.GetShareId(),
	}
	for _, device := range ownCDI(claimed, before) {
		d.CDI = append(d.CDI, device.GetName())
	}
	return d
}

// ownCDI returns the CDI devices of one device of a claim. Kubelets up to at least 1.37 list with each device of a claim also the CDI
// devices of all previous devices.
func ownCDI(claimed, before *podresourcesv1.ClaimResource) []*podresourcesv1.CDIDevice {
	all, earlier := claimed.GetCdiDevices(), before.GetCdiDevices()
	if claimed.GetDriverName() != before.GetDriverName() || len(all) <= len(earlier) {
		return all
	}
	for i := range earlier {
		if all[i].GetName() != earlier[i].GetName() {
			return all
		}
	}
	return all[len(earlier):]
}
