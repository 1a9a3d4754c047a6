// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claim creates a claim of the devices with these UUIDs, one request for each.
func (w *world) claim(t *testing.T, name string, uuids ...string) {
	t.Helper()
	w.claimFor(t, false, name, uuids...)
}

// claimFor creates a claim, with or without adminAccess.
func (w *world) claimFor(t *testing.T, admin bool, name string, uuids ...string) {
	t.Helper()
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: driverName},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driverName)}},
		}},
	}
	_, err := w.client.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), err)
	t.Cleanup(func() {
		err := w.client.ResourceV1().DeviceClasses().Delete(context.Background(), driverName, metav1.DeleteOptions{})
		assert.True(t, err == nil || apierrors.IsNotFound(err), err)
	})
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, uuid := range uuids {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourcev1.DeviceRequest{
			Name: fmt.Sprint("gpu-", i),
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: driverName, AdminAccess: &admin,
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
					Expression: fmt.Sprintf("device.attributes[%q].uuid == %q", driverName, uuid),
				}}},
			},
		})
	}
	_, err = w.client.ResourceV1().ResourceClaims(w.namespace).Create(t.Context(), claim, metav1.CreateOptions{})
	require.NoError(t, err)
}

// withClaim gives a claim to containers.
func withClaim(claim string, containers ...corev1.Container) corev1.PodSpec {
	podSpec := spec(containers...)
	podSpec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	for i := range podSpec.Containers {
		podSpec.Containers[i].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	}
	return podSpec
}

// claims: the device node in a CDI file identifies the device of one claim, which two containers share. Only its ResourceSlice identifies
// the device of the other.
func (w *world) claims(t *testing.T) {
	w.claim(t, "by-node", gpu(nodeGPU))
	w.runSpec(t, "pair", withClaim("by-node", idle("a"), idle("b")))
	for _, container := range []string{"a", "b"} {
		w.want["pair/"+container] = shared("shared_claim", claimed(gpu(nodeGPU)))
	}
	w.expect(t)
	w.place(t, "pair", "a", gpu(nodeGPU), 8*gib, 25)
	w.expect(t)

	w.claim(t, "by-slice", gpu(sliceGPU))
	w.runSpec(t, "single", withClaim("by-slice", idle("main")))
	w.want["single/main"] = claimed(gpu(sliceGPU))
	w.place(t, "single", "main", gpu(sliceGPU), 9*gib, 35)
	w.expect(t)
	w.remove(t, "pair", "a", "b")
	w.remove(t, "single", "main")
	w.expect(t)
	for _, name := range []string{"by-node", "by-slice"} {
		require.NoError(t, w.client.ResourceV1().ResourceClaims(w.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
}

// claimOfSeveral: one claim has two devices. The device node identifies one, and the ResourceSlice the other.
func (w *world) claimOfSeveral(t *testing.T) {
	w.claim(t, "both", gpu(nodeGPU), gpu(sliceGPU))
	w.runSpec(t, "dynamic", withClaim("both", idle("main")))
	w.want["dynamic/main"] = claimed(gpu(nodeGPU), gpu(sliceGPU))
	w.place(t, "dynamic", "main", gpu(sliceGPU), 4*gib, 15)
	w.expect(t)
}
