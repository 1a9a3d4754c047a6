// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// kustomization changes the shipped manifests: the destination and interval of the data, and the path of the simulated library, which a
// node's container runtime mounts into the pod.
const kustomization = `
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [SHIPPED/agent]
components:
- SHIPPED/components/owners
- SHIPPED/components/dra
- SHIPPED/components/kernel-log
- SHIPPED/components/kubernetes-events
- SHIPPED/components/node-condition
- SHIPPED/components/node-condition-policy
patches:
- target: {kind: DaemonSet, name: gpureceiver-agent}
  patch: |
    - {op: add, path: /spec/template/spec/dnsPolicy, value: Default}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--config=yaml:receivers::gpu::collection_interval: 500ms"}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--config=yaml:receivers::gpu::timeout: 500ms"}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--config=yaml:exporters::otlp_grpc::compression: gzip"}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: LD_LIBRARY_PATH, value: /simulator}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: NVMLSIM_SCENARIO, value: /simulator/scenario}}
    - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: NVMLSIM_CONTROL, value: /simulator/control}}
    - {op: add, path: /spec/template/spec/containers/0/volumeMounts/-, value: {name: simulator, mountPath: /simulator}}
    - {op: add, path: /spec/template/spec/volumes/-, value: {name: simulator, hostPath: {path: FOLDER}}}
`

// TestShipped runs the agent as it is shipped, as a pod, with owners, dynamic resource allocation, the kernel's log, and what it posts in Kubernetes.
func TestShipped(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil && os.Getenv(cluster.EnvRun) != "" {
		t.Skip("kubectl is not in PATH: the shipped manifests were not put together")
	}
	w := newWorld(t)
	w.cluster.ImportCollector(t)
	w.cluster.Apply(t, w.manifests(t))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("agent:\n%s", w.agentLog(t))
		}
	})
	w.cluster.ReadyPod(t, shippedNamespace, shippedSelector)
	w.live = true
	w.simulate(t)
	step(t, "nobody", func(t *testing.T) { w.expect(t) })
	step(t, "the kernel's log", w.readsKernelLog)
	step(t, "idle", w.idle)
	step(t, "several devices in a container", w.several)
	step(t, "time-sliced, owned by a Deployment", w.timeSliced)
	step(t, "partition, owned by a CronJob", w.partition)
	step(t, "claim of several devices", w.claimOfSeveral)
	step(t, "container restarts", w.containerRestarts)
	step(t, "no complaints", w.agentIsContent)
	step(t, "kubelet restarts", w.kubeletRestarts)
	step(t, "agent restarts", w.agentRestarts)
	step(t, "posted in Kubernetes", w.posted)
	step(t, "no complaints of the restarted agent", w.agentIsContent)
}

const (
	shippedNamespace = "gpureceiver-agent"
	shippedSelector  = "app.kubernetes.io/name=gpureceiver-agent"
)

// manifests builds the shipped manifests.
func (w *world) manifests(t *testing.T) string {
	t.Helper()
	endpoint, stop, err := w.sink.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	library, err := os.ReadFile(w.library)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "libnvidia-ml.so.1"), library, 0o600))

	directory, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	shipped, err := filepath.Abs(filepath.Join("..", "..", "..", "deploy", "kubernetes"))
	require.NoError(t, err)
	shipped, err = filepath.EvalSymlinks(shipped)
	require.NoError(t, err)
	shipped, err = filepath.Rel(directory, shipped)
	require.NoError(t, err)
	text := strings.NewReplacer("SHIPPED", shipped, "FOLDER", w.dir).Replace(kustomization)
	require.NoError(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text), 0o600))
	out, err := exec.CommandContext(t.Context(), "kubectl", "kustomize", directory).CombinedOutput()
	require.NoError(t, err, string(out))
	const gateway = "otel-gateway.observability.svc:4317"
	require.Contains(t, string(out), gateway)
	return strings.ReplaceAll(string(out), gateway, w.forward(t, endpoint))
}

// forward makes a local address of the machine reachable for pods and returns the address to use.
func (w *world) forward(t *testing.T, inner string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(w.cluster.MachineIP(), "0"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			outside, err := listener.Accept()
			if err != nil {
				return
			}
			inside, err := net.Dial("tcp", inner)
			if err != nil {
				_ = outside.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	return listener.Addr().String()
}

// agentRestarts: the agent's pod crashes, and the kubelet restarts it.
func (w *world) agentRestarts(t *testing.T) {
	w.kubeletSettled(t)
	pod := w.cluster.ReadyPod(t, shippedNamespace, shippedSelector)
	require.NoError(t, syscall.Kill(w.cluster.ContainerPID(t, pod, "otelcol-gpu"), syscall.SIGKILL))
	start := time.Now()
	eventually(t, "the agent is restarted", func() bool {
		now, err := w.client.CoreV1().Pods(shippedNamespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		return err == nil && len(now.Status.ContainerStatuses) == 1 && now.Status.ContainerStatuses[0].RestartCount == 1
	})
	w.expect(t)
	w.steady(t, start)
}

// readsKernelLog requires that the agent follows the node's kernel log with the capability SYSLOG and no other one, by syslog(2): a pod has
// no /dev/kmsg. A log that cannot be read would be in the collector's log. The test cannot write a line to it: lines of programs do not
// count.
func (w *world) readsKernelLog(t *testing.T) {
	pod := w.cluster.ReadyPod(t, shippedNamespace, shippedSelector)
	process := fmt.Sprintf("/proc/%d", w.cluster.ContainerPID(t, pod, "otelcol-gpu"))
	status, err := os.ReadFile(process + "/status")
	require.NoError(t, err)
	assert.Contains(t, string(status), fmt.Sprintf("CapEff:\t%016x\n", uint64(1)<<unix.CAP_SYSLOG))
	_, err = os.Stat(process + "/root/dev/kmsg")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Contains(t, pod.Spec.Containers[0].Args, "--config=/etc/gpureceiver-kernel-log/kernel-log.yaml")
	log := w.agentLog(t)
	assert.Contains(t, log, "Everything is ready")
	assert.NotContains(t, log, "kernel log")
}

// agentIsContent requires that the agent has all permissions that it uses.
func (w *world) agentIsContent(t *testing.T) {
	log := w.agentLog(t)
	assert.Contains(t, log, "Everything is ready")
	for _, complaint := range []string{"forbidden", "permission denied", "read-only file system", "Read failed"} {
		assert.NotContains(t, log, complaint)
	}
}

func (w *world) agentLog(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pods, err := w.client.CoreV1().Pods(shippedNamespace).List(ctx, metav1.ListOptions{LabelSelector: shippedSelector})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	text, err := w.client.CoreV1().Pods(shippedNamespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	require.NoError(t, err)
	return string(text)
}
