// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The labels and annotations of the KAI scheduler, which Run:ai has published:
// https://github.com/kai-scheduler/KAI-Scheduler/blob/00cf2baa2388d102a5f8c6cd4651514374880588/pkg/common/constants/constants.go
//
// A reservation pod holds one GPU and has the label groupLabel. A tenant of one GPU has the same label. A tenant of several
// (gpu-fraction-num-devices) has a label groupPrefix<group> with the value <group> for each:
// https://github.com/kai-scheduler/KAI-Scheduler/blob/c4c352c880e90031c19a0fbc7c8ed4d86973f543/pkg/binder/binding/resourcereservation/resource_reservation.go
// (syncForGpuGroupWithLock, updatePodGPUGroup). So the number of devices needs no annotation, and the share applies to each device.
const (
	groupLabel  = "runai-gpu-group"
	groupPrefix = groupLabel + "/"

	fractionAnnotation  = "gpu-fraction"                // of each device's memory: above 0, below 1
	memoryAnnotation    = "gpu-memory"                  // of each device, in MiB
	containerAnnotation = "gpu-fraction-container-name" // the pod's first container without it
)

// The annotations that newer versions write as well, or have instead: nvidia.com/container.<name>.gpu-memory.request and .limit, each a
// quantity of bytes for each device.
// https://github.com/kai-scheduler/KAI-Scheduler/blob/253c8275d1c7a3a0376222dd5b420560561e7f00/pkg/common/resources/gpu_sharing_nvfractions.go
// https://github.com/kai-scheduler/api/blob/556f51bac86ab3849723c2106c663ae732d379ea/constants/constants.go
const (
	containerPrefix     = "nvidia.com/container."
	memoryRequestSuffix = ".gpu-memory.request"
	memoryLimitSuffix   = ".gpu-memory.limit"
)

// The namespaces of reservation pods: DefaultResourceReservationName of KAI, and Run:ai's
// (https://github.com/run-ai/docs/blob/2.9/docs/Researcher/scheduling/fractions.md#runai-fractions).
const (
	kaiNamespace   = "kai-resource-reservation"
	runaiNamespace = "runai-reservation"
)

// DefaultReservationNamespaces returns the namespaces that KAI and Run:ai create for their reservation pods.
func DefaultReservationNamespaces() []string { return []string{kaiNamespace, runaiNamespace} }

// ReservedGroup returns the group of tenants for which a reservation pod holds its GPU; false if the labels are not the labels of a
// reservation pod.
func ReservedGroup(labels map[string]string) (string, bool) {
	group := labels[groupLabel]
	return group, group != ""
}

// Groups returns the groups to which a tenant belongs, one for each GPU that it has a part of; none for any other pod.
func Groups(labels map[string]string) []string {
	var groups []string
	if group := labels[groupLabel]; group != "" {
		groups = append(groups, group)
	}
	for key, value := range labels {
		if group, ok := strings.CutPrefix(key, groupPrefix); ok && group != "" && group == value && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

// Tenant is a container that has a part of the GPU of a reservation pod.
type Tenant struct {
	Container string // empty: the pod's first
	share     gpu.Opt[float64]
	memory    int64 // bytes; 0 if it is not known
	limit     gpu.Opt[int64]
}

// ParseTenant returns what the annotations of a tenant say about its part of each GPU. A value that KAI would refuse says nothing.
//
// KAI writes gpu-memory.request from gpu-fraction, rounded down to MiB, so the fraction is the more exact one.
func ParseTenant(annotations map[string]string) Tenant {
	t := Tenant{Container: annotations[containerAnnotation]}
	var request int64
	for _, key := range slices.Sorted(maps.Keys(annotations)) { // of several containers, which KAI refuses, the same one in each read
		value := annotations[key]
		if name, ok := containerOf(key, memoryRequestSuffix); ok {
			t.Container, request = name, quantity(value)
		}
		if name, ok := containerOf(key, memoryLimitSuffix); ok {
			t.Container = name
			if bytes := quantity(value); bytes > 0 {
				t.limit = gpu.Some(bytes)
			}
		}
	}
	if fraction, err := strconv.ParseFloat(annotations[fractionAnnotation], 64); err == nil && fraction > 0 && fraction < 1 {
		t.share = gpu.Some(fraction)
	}
	limit, _ := t.limit.Get()
	t.memory = firstPositive(request, limit, mebibytes(annotations[memoryAnnotation]))
	return t
}

// Part implements Grant. KAI itself limits nothing: only the newer annotation is a limit.
func (t Tenant) Part(memory gpu.Opt[int64]) Part {
	return Part{Share: t.share.Or(memoryShare(t.memory, memory)), MemoryLimit: t.limit}
}

// containerOf returns the container in a key nvidia.com/container.<name><suffix>.
func containerOf(key, suffix string) (string, bool) {
	rest, ok1 := strings.CutPrefix(key, containerPrefix)
	name, ok2 := strings.CutSuffix(rest, suffix)
	return name, ok1 && ok2 && name != ""
}

// quantity returns a number of bytes, such as 5Gi; 0 if it is invalid.
func quantity(s string) int64 {
	q, err := resource.ParseQuantity(s)
	if err != nil || q.Sign() <= 0 || q.Value() > maxMiB*mib {
		return 0
	}
	return q.Value()
}

// mebibytes returns a number of MiB in bytes; 0 if it is invalid.
func mebibytes(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > maxMiB {
		return 0
	}
	return n * mib
}

// maxMiB bounds what is taken for an amount of a GPU's memory: a pebibyte.
const maxMiB = 1 << 30

func firstPositive(values ...int64) int64 {
	for _, v := range values {
		if v > 0 {
			return v
		}
	}
	return 0
}
