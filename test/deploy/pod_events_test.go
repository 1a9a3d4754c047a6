// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/receivertest"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/otelgpu/gpureceiver"
)

// watchedPods is a real API server, and kubernetes_cluster with the permissions of its components, which sends what happens to pods.
type watchedPods struct {
	client kubernetes.Interface
	logs   *consumertest.LogsSink
}

func newWatchedPods(t *testing.T, components []string, settings map[string]any) *watchedPods {
	t.Helper()
	config, client := applied(t, build(t, withComponents(t, "cluster", components...)))
	w := &watchedPods{client: client, logs: new(consumertest.LogsSink)}
	teamNamespace(t, client)
	_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := client.CoreV1().ServiceAccounts("gpureceiver-cluster").CreateToken(t.Context(), "gpureceiver-cluster", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token.Status.Token), 0o600))

	scraper := map[string]any{"endpoint": config.Host, "token_file": file, "insecure_skip_verify": true}
	maps.Copy(scraper, settings)
	factory := gpureceiver.NewFactory()
	cfg := factory.CreateDefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"scrapers": map[string]any{"kubernetes_cluster": scraper}, "attribution": map[string]any{"cluster_name": "prod"},
	}).Unmarshal(cfg))
	require.NoError(t, confmap.Validate(cfg))
	logs, err := factory.CreateLogs(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, w.logs)
	require.NoError(t, err)
	require.NoError(t, logs.Start(t.Context(), componenttest.NewNopHost()))
	t.Cleanup(func() { assert.NoError(t, logs.Shutdown(context.WithoutCancel(t.Context()))) })
	return w
}

// records returns the records of a pod, in the order in which they were sent.
func (w *watchedPods) records(pod string) []plog.LogRecord {
	var result []plog.LogRecord
	for _, logs := range w.logs.AllLogs() {
		for _, resource := range logs.ResourceLogs().All() {
			for _, scope := range resource.ScopeLogs().All() {
				for _, record := range scope.LogRecords().All() {
					if name, ok := record.Attributes().Get("k8s.pod.name"); ok && name.Str() == pod {
						result = append(result, record)
					}
				}
			}
		}
	}
	return result
}

func namesOf(records []plog.LogRecord) []string {
	var names []string
	for _, record := range records {
		names = append(names, record.EventName())
	}
	return names
}

// await waits until exactly these events of a pod were sent since the first ones, and returns their records.
func (w *watchedPods) await(t *testing.T, pod string, before int, names ...string) []plog.LogRecord {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.records(pod)) >= before+len(names) }, soon, 10*time.Millisecond, "%v", namesOf(w.records(pod)))
	records := w.records(pod)[before:]
	require.Equal(t, names, namesOf(records))
	return records
}

// create makes a pod with a container that requests GPUs.
func (w *watchedPods) create(t *testing.T, name string, gpus string, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{ServiceAccountName: "default", Containers: []corev1.Container{{
			Name: "main", Image: "a", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}},
		}}},
	}
	if change != nil {
		change(pod)
	}
	pod, err := w.client.CoreV1().Pods("team").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	return pod
}

// bind has the pod bound as the scheduler does.
func (w *watchedPods) bind(t *testing.T, pod string) {
	t.Helper()
	require.NoError(t, w.client.CoreV1().Pods("team").Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-a"},
	}, metav1.CreateOptions{}))
}

// status changes the status of a pod as the scheduler and the kubelet do.
func (w *watchedPods) status(t *testing.T, name string, change func(*corev1.PodStatus)) {
	t.Helper()
	pod, err := w.client.CoreV1().Pods("team").Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	change(&pod.Status)
	_, err = w.client.CoreV1().Pods("team").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (w *watchedPods) delete(t *testing.T, pod string) {
	t.Helper()
	require.NoError(t, w.client.CoreV1().Pods("team").Delete(t.Context(), pod, *metav1.NewDeleteOptions(0)))
}

func runs(restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: "main", ContainerID: "containerd://c1", RestartCount: restarts,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}
}

func oomKilled() *corev1.ContainerStateTerminated {
	now := metav1.Now()
	return &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", StartedAt: now, FinishedAt: now, ContainerID: "containerd://c1"}
}

// What a real API server says of pods that request GPUs, from creation to end.
func TestPodEvents(t *testing.T) {
	t.Parallel()
	w := newWatchedPods(t, []string{"cluster-events", "cluster-claims", "cluster-replicas"}, map[string]any{
		"leader_election": map[string]any{"lease_namespace": "gpureceiver-cluster"},
		"owners":          map[string]any{"kinds": []any{"replicasets.apps"}}, "device_classes": []any{"gpu.nvidia.com"},
	})

	pod := w.create(t, "train-0", "2", nil)
	created := w.await(t, "train-0", 0, "k8s.pod.gpu.created")[0].Attributes().AsRaw()
	assert.Equal(t, []any{"nvidia.com/gpu=2"}, created["k8s.resource.requests"])
	assert.Equal(t, string(pod.UID), created["k8s.pod.uid"])
	w.status(t, "train-0", func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
		}}
	})
	pending := w.await(t, "train-0", 1, "k8s.pod.gpu.pending")[0]
	assert.Equal(t, "team/train-0 is not scheduled: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.", pending.Body().Str())
	w.bind(t, "train-0")
	bound := w.await(t, "train-0", 2, "k8s.pod.gpu.scheduled", "container.gpu.allocated")[1].Attributes().AsRaw()
	assert.Equal(t, "node-a", bound["k8s.node.name"])
	assert.Equal(t, int64(2), bound["hw.gpu.use.count"])
	assert.Equal(t, "device_plugin", bound["hw.gpu.allocator"])
	assert.NotContains(t, bound, "hw.id")
	w.status(t, "train-0", func(s *corev1.PodStatus) {
		s.Phase, s.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{runs(0)}
	})
	w.await(t, "train-0", 4, "k8s.pod.gpu.phase")
	w.status(t, "train-0", func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{runs(1)}
		s.ContainerStatuses[0].LastTerminationState.Terminated = oomKilled()
	})
	restarted := w.await(t, "train-0", 5, "k8s.pod.gpu.restarted")[0]
	assert.Equal(t, plog.SeverityNumberError, restarted.SeverityNumber())
	assert.Equal(t, "OOMKilled", restarted.Attributes().AsRaw()["k8s.container.status.last_terminated_reason"])
	require.NoError(t, w.client.CoreV1().Pods("team").EvictV1(t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: "train-0"}, DeleteOptions: metav1.NewDeleteOptions(0),
	}))
	missing := w.await(t, "train-0", 6, "k8s.pod.gpu.evicted", "container.gpu.released", "k8s.pod.gpu.deleted")
	assert.Equal(t, "EvictionByEvictionAPI", missing[0].Attributes().AsRaw()["k8s.pod.status.reason"])
	released := missing[1].Attributes().AsRaw()
	assert.Equal(t, bound["hw.gpu.use.start_time"], released["hw.gpu.use.start_time"])
	assert.Equal(t, true, released["hw.gpu.use.end_known"])
	assert.InDelta(t, 2*released["hw.gpu.use.duration"].(float64), released["hw.gpu.use.gpu_time"], 1e-9)

	w.create(t, "train-1", "1", nil)
	w.await(t, "train-1", 0, "k8s.pod.gpu.created")
	w.bind(t, "train-1")
	w.await(t, "train-1", 1, "k8s.pod.gpu.scheduled", "container.gpu.allocated")
	w.status(t, "train-1", func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: oomKilled()}}}
	})
	finished := w.await(t, "train-1", 3, "k8s.pod.gpu.finished", "container.gpu.released")
	assert.Equal(t, int64(137), finished[0].Attributes().AsRaw()["k8s.container.exit_code"])
	w.delete(t, "train-1")
	w.await(t, "train-1", 5, "k8s.pod.gpu.deleted")

	w.claims(t)
}

// claims has a pod request GPUs by a claim that comes after it.
func (w *watchedPods) claims(t *testing.T) {
	t.Helper()
	name := "gpus"
	w.create(t, "claims-0", "0", func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}}
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}}
	})
	w.create(t, "none", "0", nil)
	claim, err := w.client.ResourceV1().ResourceClaims("team").Create(t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "all", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", AllocationMode: resourcev1.DeviceAllocationModeAll},
		}}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	created := w.await(t, "claims-0", 0, "k8s.pod.gpu.created")[0].Attributes().AsRaw()
	assert.Equal(t, []any{"gpu.nvidia.com"}, created["k8s.resource.requests"], "how many is not known yet")
	for _, device := range []string{"gpu-0", "gpu-1", "gpu-2"} {
		if claim.Status.Allocation == nil {
			claim.Status.Allocation = &resourcev1.AllocationResult{}
		}
		results := &claim.Status.Allocation.Devices.Results
		*results = append(*results, resourcev1.DeviceRequestAllocationResult{Request: "all", Driver: "gpu.nvidia.com", Pool: "node-a", Device: device})
	}
	claim, err = w.client.ResourceV1().ResourceClaims("team").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.bind(t, "claims-0")
	bound := w.await(t, "claims-0", 1, "k8s.pod.gpu.scheduled", "container.gpu.allocated")[1].Attributes().AsRaw()
	assert.Equal(t, "dra", bound["hw.gpu.allocator"])
	assert.Equal(t, "gpu.nvidia.com", bound["k8s.resource.name"])
	assert.Equal(t, int64(3), bound["hw.gpu.use.count"])

	// The claim loses its devices before the pod is gone.
	claim.Status.Allocation = nil
	_, err = w.client.ResourceV1().ResourceClaims("team").UpdateStatus(t.Context(), claim, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.status(t, "claims-0", func(s *corev1.PodStatus) {
		s.Phase, s.ContainerStatuses = corev1.PodRunning, []corev1.ContainerStatus{runs(0)}
	})
	w.await(t, "claims-0", 3, "k8s.pod.gpu.phase")
	w.delete(t, "claims-0")
	released := w.await(t, "claims-0", 4, "container.gpu.released", "k8s.pod.gpu.deleted")[0].Attributes().AsRaw()
	assert.Equal(t, int64(3), released["hw.gpu.use.count"])
	assert.InDelta(t, 3*released["hw.gpu.use.duration"].(float64), released["hw.gpu.use.gpu_time"], 1e-9)
	assert.Empty(t, w.records("none"), "it requests no GPU")
}
