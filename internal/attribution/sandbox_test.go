// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A sandbox (gVisor) runs the whole pod in one process, in the control group of the pod or of the sandbox. If the pod has one container,
// the process is in it.
func TestSandbox(t *testing.T) {
	sandbox := strings.Repeat("5", 64)
	container := func(id string) *gpu.Container {
		c := train.joined()
		c.ID = id
		return c
	}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	begun := func(state corev1.ContainerState, policy *corev1.ContainerRestartPolicy) *corev1.Pod {
		pod := podOf(train)
		pod.Spec.InitContainers = []corev1.Container{{Name: helper.name, RestartPolicy: policy}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: helper.name, ContainerID: "containerd://" + helper.id(), State: state}}
		return pod
	}
	debugged := podOf(train)
	debugged.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: helper.name, ContainerID: "containerd://" + helper.id(), State: ended}}
	always := corev1.ContainerRestartPolicyAlways
	inPod := strings.Replace(train.cgroup(), "/cri-containerd-"+train.id()+".scope", "", 1)
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		cgroup string
		want   *gpu.Container // nil: not known which
	}{
		{"pod's group", podOf(train), inPod, train.joined()},
		{"sandbox's group", podOf(train), strings.Replace(train.cgroup(), train.id(), sandbox, 1), container(sandbox)},
		{"after an init container, pod's group", begun(ended, nil), inPod, train.joined()},
		{"after an init container, sandbox's group", begun(ended, nil), strings.Replace(train.cgroup(), train.id(), sandbox, 1), container(sandbox)},
		{"after an ephemeral container", debugged, inPod, train.joined()},
		{"while an init container runs", begun(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, nil), inPod, nil},
		{"a sidecar that starts again", begun(ended, &always), inPod, nil},
		{"two containers", podOf(train, helper), strings.Replace(train.cgroup(), train.id(), sandbox, 1), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, nil, tt.pod).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
			node := nodeOf(device(0))
			run(node, 10, uuid(0), train, 4e9, 0.3)
			node.Processes[0].Cgroup = tt.cgroup
			m.apply(node)
			if tt.want == nil {
				assert.Len(t, node.Containers, 2)
				return
			}
			inDelta(t, 0.8, general(use(t, node, tt.want, uuid(0))))
			assert.Len(t, node.Containers, 1)
		})
	}
}
