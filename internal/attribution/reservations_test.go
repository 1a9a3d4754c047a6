// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const reservationContainer = "resource-reservation"

// reservation returns a reservation pod of KAI.
func reservation(namespace, name, group string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": namespace}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if group != "" {
		pod.Labels["runai-gpu-group"] = group
	}
	asking(pod, reservationContainer, resource, 1)
	return pod
}

// tenantOf returns a pod with parts of the GPUs of groups. Like KAI, it labels a tenant of several in another way.
func tenantOf(groups []string, annotations map[string]string, containers ...testContainer) *corev1.Pod {
	pod := podOf(containers...)
	pod.Annotations, pod.Labels = annotations, map[string]string{}
	for _, group := range groups {
		if len(groups) == 1 {
			pod.Labels["runai-gpu-group"] = group
		} else {
			pod.Labels["runai-gpu-group/"+group] = group
		}
	}
	for _, c := range containers {
		asking(pod, c.name, "", 0)
	}
	return pod
}

// Not a reservation pod but its tenants are holders.
func TestReservationsHoldForTenants(t *testing.T) {
	m := newMachine(t, nil,
		reservation("kai-resource-reservation", "gpu-reservation-a", "a"),
		reservation("runai-reservation", "gpu-reservation-b", "b"),
		tenantOf([]string{"a", "b"}, map[string]string{"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"}, train),
		tenantOf([]string{"a"}, map[string]string{"gpu-memory": "6144"}, infer),
	).start()
	m.kubelet.Set(
		kubelettest.PodIn("kai-resource-reservation", "gpu-reservation-a", kubelettest.Container(reservationContainer, resource, uuid(0))),
		kubelettest.PodIn("runai-reservation", "gpu-reservation-b", kubelettest.Container(reservationContainer, resource, uuid(1))),
	)
	node := nodeOf(card(0), card(1))
	run(node, 10, uuid(0), train, 4*gib, 0.5)
	m.apply(node)
	require.Empty(t, node.Problems)
	for _, want := range []struct {
		holder testContainer
		device int
		share  float64
	}{{train, 0, 0.5}, {infer, 0, 6.0 / 24}, {train, 1, 0.5}} {
		u := use(t, node, want.holder.joined(), uuid(want.device))
		assert.Equal(t, gpu.Some(true), u.Allocated)
		assert.Equal(t, gpu.Some(want.share), u.Share)
		assert.Equal(t, gpu.SharingFraction, u.Sharing)
		assert.Equal(t, resource, u.Resource)
		assert.False(t, u.MemoryLimit.Known(), "KAI limits nothing, and who else comes is not known")
	}
	require.Len(t, node.Containers, 3, "nothing of the reservations")
	for i := range node.Devices {
		assert.True(t, node.Devices[i].HoldersComplete)
	}

	// Only the tenant that does nothing is idle.
	m.apply(node, 10)
	assertTotal(t, 10, use(t, node, infer.joined(), uuid(0)).IdleTime)
	require.Len(t, node.Containers, 3)
}

// The tenant of the only container in the pod's order, or of the one that is named.
func TestTenantContainer(t *testing.T) {
	for name, tt := range map[string]struct {
		annotations map[string]string
		want        testContainer
	}{
		"the first":        {map[string]string{"gpu-fraction": "0.5"}, train},
		"a named one":      {map[string]string{"gpu-fraction": "0.5", "gpu-fraction-container-name": helper.name}, helper},
		"one with a limit": {map[string]string{"nvidia.com/container.helper.gpu-memory.limit": "12Gi"}, helper},
	} {
		t.Run(name, func(t *testing.T) {
			pod := tenantOf([]string{"a"}, tt.annotations, train, helper)
			pod.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
			m := newMachine(t, nil, reservation("kai-resource-reservation", "r", "a"), pod).start()
			m.kubelet.Set(kubelettest.PodIn("kai-resource-reservation", "r", kubelettest.Container(reservationContainer, resource, uuid(0))))
			node := m.apply(nodeOf(card(0)))
			require.Len(t, node.Containers, 1)
			assert.Equal(t, gpu.Some(0.5), use(t, node, tt.want.joined(), uuid(0)).Share)
		})
	}
}

func TestWhatIsNoReservation(t *testing.T) {
	tenant := func() *corev1.Pod { return tenantOf([]string{"a"}, map[string]string{"gpu-fraction": "0.5"}, train) }
	for name, tt := range map[string]struct {
		change  func(*Config)
		objects []runtime.Object
	}{
		"no right to read the API": {noAPI, []runtime.Object{reservation("kai-resource-reservation", "r", "a"), tenant()}},
		"another namespace": {
			func(c *Config) { c.Owners.ReservationNamespaces = []string{"reserved"} },
			[]runtime.Object{reservation("kai-resource-reservation", "r", "a"), tenant()},
		},
		"no label of a group": {nil, []runtime.Object{reservation("kai-resource-reservation", "r", ""), tenant()}},
		"switched off": {
			func(c *Config) { c.Owners.ReservationNamespaces = nil },
			[]runtime.Object{reservation("kai-resource-reservation", "r", "a"), tenant()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, tt.change, tt.objects...).start()
			m.kubelet.Set(kubelettest.PodIn("kai-resource-reservation", "r", kubelettest.Container(reservationContainer, resource, uuid(0))))
			node := m.apply(nodeOf(card(0)))
			require.Len(t, node.Devices[0].Holders, 1)
			holder := node.Devices[0].Holders[0]
			assert.Equal(t, reservationContainer, holder.Container.Name)
			assert.Equal(t, gpu.SharingExclusive, holder.Sharing)
			assert.Equal(t, gpu.Some[int64](24*gib), node.Containers[0].MemoryLimit)
		})
	}
}

// The collector asks for pods that it may not read: the reservation is the holder, as without owners.
func TestReservationsWithoutTheRight(t *testing.T) {
	m := newMachine(t, nil, reservation("kai-resource-reservation", "r", "a"), tenantOf([]string{"a"}, map[string]string{"gpu-fraction": "0.5"}, train))
	m.client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
	})
	m.startUnread()
	m.kubelet.Set(kubelettest.PodIn("kai-resource-reservation", "r", kubelettest.Container(reservationContainer, resource, uuid(0))))
	node := m.apply(nodeOf(card(0)))
	require.Len(t, node.Devices[0].Holders, 1)
	assert.Equal(t, reservationContainer, node.Devices[0].Holders[0].Container.Name)
	assert.True(t, node.HasProblem(gpu.ProblemKubernetes))
}

// Between the reservation and its first tenant the future holder of the GPU is unknown, and it is not free.
func TestReservationWithoutTenants(t *testing.T) {
	ended := tenantOf([]string{"a"}, map[string]string{"gpu-fraction": "0.5"}, train)
	ended.Status.Phase = corev1.PodSucceeded
	for name, objects := range map[string][]runtime.Object{
		"none":                              {reservation("kai-resource-reservation", "r", "a")},
		"of another group":                  {reservation("kai-resource-reservation", "r", "a"), tenantOf([]string{"b"}, nil, train)},
		"one that has ended":                {reservation("kai-resource-reservation", "r", "a"), ended},
		"the API does not know the pod yet": nil,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, objects...).start()
			m.kubelet.Set(kubelettest.PodIn("kai-resource-reservation", "r", kubelettest.Container(reservationContainer, resource, uuid(0))))
			node := m.apply(nodeOf(card(0), card(1)))
			assert.Empty(t, node.Containers)
			assert.False(t, node.Devices[0].HoldersKnown)
			assert.True(t, node.Devices[1].HoldersKnown, "that one is free")
			assert.Empty(t, node.Problems)
		})
	}
}
