// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// reservations are the pods of this node that hold a GPU for others (KAI, Run:ai), and those others. A nil reservations is empty.
//
// A reservation is a pod in one of some namespaces with the label of its group. Users who may create pods may give them the label: these
// pods can join the holders of a reserved GPU, but not the holders of any other GPU.
type reservations struct {
	namespaces []string
	synced     bool                 // the API's list of pods has been read
	tenants    map[string][]*tenant // by group
}

// tenant is a container that has a part of a reserved GPU.
type tenant struct {
	container podContainer
	grant     fractions.Tenant
}

func newReservations(namespaces []string, containers *containers) *reservations {
	if containers.view == nil || len(namespaces) == 0 {
		return nil
	}
	r := &reservations{namespaces: namespaces, synced: containers.view.Pods.Synced(), tenants: make(map[string][]*tenant)}
	for _, pod := range containers.view.Pods.WithMetadata() {
		if slices.Contains(namespaces, pod.Namespace) {
			continue
		}
		groups := fractions.Groups(pod.Metadata.Labels)
		if len(groups) == 0 {
			continue
		}
		grant := fractions.ParseTenant(pod.Metadata.Annotations)
		name := tenantContainer(pod, grant.Container)
		if name == "" {
			continue
		}
		for _, group := range groups {
			r.tenants[group] = append(r.tenants[group], &tenant{podContainer{pod.Namespace, pod.Name, name}, grant})
		}
	}
	for _, tenants := range r.tenants { // the same order in each read
		slices.SortFunc(tenants, func(a, b *tenant) int {
			return cmp.Or(cmp.Compare(a.container.namespace, b.container.namespace), cmp.Compare(a.container.pod, b.container.pod))
		})
	}
	return r
}

// tenantContainer returns the container of a pod that has the GPU: the named one, or the first that is not an init container; empty if
// there is none.
func tenantContainer(pod *kube.Pod, named string) string {
	i := slices.IndexFunc(pod.Metadata.Containers, func(c kube.SpecContainer) bool {
		return c.Name == named || (named == "" && !c.Init)
	})
	if i < 0 {
		return ""
	}
	return pod.Metadata.Containers[i].Name
}

// reserved reports whether a container belongs to a reservation, and returns its group. pod is nil if the API does not know it. Then the
// container counts as a reservation without a known group if it is in one of the namespaces: the holder of its GPU is unknown.
func (r *reservations) reserved(container podContainer, pod *kube.Pod) (group string, reserved bool) {
	switch {
	case r == nil || !slices.Contains(r.namespaces, container.namespace):
		return "", false
	case pod == nil:
		return "", r.synced
	case pod.Metadata == nil:
		return "", false
	}
	return fractions.ReservedGroup(pod.Metadata.Labels)
}

// holdForTenants adds the tenants of a reservation to the holders of its device, as the reservation holds it. The scheduler binds them one
// after the other, and the first one after the reservation. So without any, it is not known who has the device.
func (h *holders) holdForTenants(i int, group string, holder gpu.Holder) {
	tenants := h.reservations.tenants[group]
	if len(tenants) == 0 {
		h.complete[i] = false
	}
	for _, t := range tenants {
		holder.Sharing = gpu.SharingFraction
		h.addHolder(&h.node.Devices[i], holder, t.container, t.grant)
	}
}
