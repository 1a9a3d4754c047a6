// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/checkpoint/checkpointtest"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// clusterRig reads a cluster of a fake API for its events.
type clusterRig struct {
	*rig
	client  *fake.Clientset
	source  *clusterSource
	blocks  chan struct{} // the next consumer takes nothing until it is closed; nil: it takes everything
	batches atomic.Int64  // that the next consumer received
}

func newClusterRig(t *testing.T, pods ...*corev1.Pod) *clusterRig {
	t.Helper()
	r := newStoppedRig(t, nil, pods...)
	r.start()
	return r
}

func newStoppedRig(t *testing.T, scraper map[string]any, pods ...*corev1.Pod) *clusterRig {
	t.Helper()
	r := &clusterRig{rig: newRigOf(t, openSource), client: fake.NewSimpleClientset()}
	var err error
	r.cfg, err = loadMap(map[string]any{
		"collection_interval": "100ms", "initial_delay": "1ms", "timeout": "100ms",
		"scrapers": map[string]any{"kubernetes_cluster": scraper}, "attribution": map[string]any{"cluster_name": "prod"},
	})
	require.NoError(t, err)
	r.factory.connect = func(*kube.Config) (*kube.Clients, error) { return &kube.Clients{Kubernetes: r.client}, nil }
	for _, pod := range pods {
		r.put(pod)
	}
	return r
}

// start reads the cluster until the test ends.
func (r *clusterRig) start() {
	r.t.Helper()
	next, err := consumer.NewLogs(func(ctx context.Context, logs plog.Logs) error {
		r.batches.Add(int64(logs.LogRecordCount()))
		if r.blocks != nil {
			<-r.blocks
		}
		return r.logs.ConsumeLogs(ctx, logs)
	})
	require.NoError(r.t, err)
	r.run(r.newLogsInto(next))
	r.source = r.sources()[r.cfg].cluster
}

// put creates a pod, or changes it.
func (r *clusterRig) put(pod *corev1.Pod) {
	r.t.Helper()
	pods := r.client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(r.t.Context(), pod.DeepCopy(), metav1.CreateOptions{}); err == nil {
		return
	}
	_, err := pods.Update(r.t.Context(), pod.DeepCopy(), metav1.UpdateOptions{})
	require.NoError(r.t, err)
}

// eventNames returns the names of the events of a pod that were sent.
func (r *clusterRig) eventNames(pod string) (names []string) {
	for _, logs := range r.logs.AllLogs() {
		for _, rl := range logs.ResourceLogs().All() {
			for _, record := range rl.ScopeLogs().At(0).LogRecords().All() {
				if name, ok := record.Attributes().Get("k8s.pod.name"); ok && name.Str() == pod {
					names = append(names, record.EventName())
				}
			}
		}
	}
	return names
}

func gpuPod(name string, gpus int64) *corev1.Pod {
	requests := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Unix(1767323045, 0))},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: requests}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// From the API server to log records: what happens to a pod that requests a GPU is sent at once, in order.
func TestPodEvents(t *testing.T) {
	r := newClusterRig(t, gpuPod("there", 1), gpuPod("cpu", 0))
	eventually(t, func() bool { return len(r.eventNames("there")) > 0 }, "the pod that is there is not reported")
	assert.Equal(t, []string{"k8s.pod.gpu.created"}, r.eventNames("there"))

	pod := gpuPod("train-0", 2)
	r.put(pod)
	eventually(t, func() bool { return len(r.eventNames("train-0")) == 1 }, "not created")
	pod.Spec.NodeName = "n1"
	r.put(pod)
	eventually(t, func() bool { return len(r.eventNames("train-0")) == 3 }, "not scheduled")
	pod.Status.Phase = corev1.PodRunning
	r.put(pod)
	eventually(t, func() bool { return len(r.eventNames("train-0")) == 4 }, "not running")
	require.NoError(t, r.client.CoreV1().Pods("ml").Delete(t.Context(), "train-0", metav1.DeleteOptions{}))
	eventually(t, func() bool { return len(r.eventNames("train-0")) == 6 }, "not deleted")
	assert.Equal(t, []string{
		"k8s.pod.gpu.created", "k8s.pod.gpu.scheduled", "container.gpu.allocated", "k8s.pod.gpu.phase", "container.gpu.released", "k8s.pod.gpu.deleted",
	}, r.eventNames("train-0"))
	assert.Empty(t, r.eventNames("cpu"), "it requests no GPU")
	resource := r.logs.AllLogs()[0].ResourceLogs().At(0).Resource().Attributes().AsRaw()
	assert.Equal(t, map[string]any{"k8s.cluster.name": "prod"}, resource)
}

// Pods that a collector knew which was killed: what is still there is not reported as new, and what has gone is, with when it was last seen.
func TestPodsOutliveAKill(t *testing.T) {
	r := newStoppedRig(t, nil, gpuPod("stays", 1), gpuPod("goes", 1), gpuPod("no-gpu-now", 1))
	disk := &checkpointtest.Storage{}
	r.keeps(disk)
	r.start()
	eventually(t, func() bool {
		return len(r.eventNames("stays")) == 1 && len(r.eventNames("goes")) == 1 && len(r.eventNames("no-gpu-now")) == 1 && r.source.keeper.waiting() == 0 &&
			slices.Contains(disk.Keys(), "part/kubernetes_cluster/confirmed")
	}, "the pods are not reported and stored")

	killed := disk.Copy()
	for range 2 { // killed again, before it has sent anything
		r = newStoppedRig(t, nil, gpuPod("stays", 1), gpuPod("new", 1))
		same := gpuPod("no-gpu-now", 0) // as if its resource did not count as a GPU any more
		r.put(same)
		r.keeps(killed.Copy())
		r.start()
		eventually(t, func() bool { return len(r.eventNames("goes")) == 1 && len(r.eventNames("new")) == 1 }, "what has changed is not reported")
		assert.Equal(t, []string{"k8s.pod.gpu.deleted"}, r.eventNames("goes"))
		assert.Equal(t, []string{"k8s.pod.gpu.created"}, r.eventNames("new"))
		assert.Empty(t, r.eventNames("stays"))
		assert.Empty(t, r.eventNames("no-gpu-now"))
		for _, record := range records(r.logs) {
			_, marked := record.Attributes().Get("k8s.pod.last_seen")
			assert.Equal(t, record.EventName() == "k8s.pod.gpu.deleted", marked)
		}
	}
}

// A replica with a storage that reads the cluster for the second time goes on with what it knows.
func TestPodsOutliveATerm(t *testing.T) {
	r := newStoppedRig(t, nil, gpuPod("stays", 1), gpuPod("goes", 1))
	disk := &checkpointtest.Storage{}
	r.keeps(disk)
	r.start()
	eventually(t, func() bool { return len(r.eventNames("stays")) == 1 && len(r.eventNames("goes")) == 1 }, "the pods are not reported")
	r.source.unwatch()

	require.NoError(t, r.client.CoreV1().Pods("ml").Delete(t.Context(), "goes", metav1.DeleteOptions{}))
	r.put(gpuPod("new", 1))
	for range 2 {
		require.NoError(t, r.source.watch())
		eventually(t, func() bool {
			return len(r.eventNames("goes")) == 2 && len(r.eventNames("new")) == 1 && len(r.source.tracker.Missing()) == 0
		}, "what has changed is not reported")
		r.source.unwatch()
	}
	assert.Equal(t, []string{"k8s.pod.gpu.created", "k8s.pod.gpu.deleted"}, r.eventNames("goes"))
	assert.Equal(t, []string{"k8s.pod.gpu.created"}, r.eventNames("new"))
	assert.Equal(t, []string{"k8s.pod.gpu.created"}, r.eventNames("stays"))
	eventually(t, func() bool {
		keys := disk.Keys()
		return slices.Contains(keys, "part/kubernetes_cluster/pod/uid-new") && !slices.Contains(keys, "part/kubernetes_cluster/pod/uid-goes")
	}, "what is known is not stored")
}

// A pod's spec and status are sent only if that is configured.
func TestPodSnapshots(t *testing.T) {
	r := newStoppedRig(t, map[string]any{"snapshots": true}, gpuPod("train-0", 2))
	r.start()
	eventually(t, func() bool { return len(r.eventNames("train-0")) == 2 }, "not sent")
	assert.Equal(t, []string{"k8s.pod.gpu.created", "k8s.pod.gpu.snapshot"}, r.eventNames("train-0"))
}

// More pods and workloads than events may wait are all reported.
func TestPodEventsAtStart(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 1200 {
		pod := gpuPod("p-"+strconv.Itoa(i), 1)
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j-" + pod.Name, UID: "uid-j-" + pod.UID}}
		pods = append(pods, pod)
	}
	r := newStoppedRig(t, nil, pods...)
	telemetry := r.measured()
	r.start()
	eventually(t, func() bool { return r.logs.LogRecordCount() >= 2*len(pods) }, "not all pods and workloads were reported")
	assert.Equal(t, 2*len(pods), r.logs.LogRecordCount())
	assert.Zero(t, counts(t, telemetry)["receiver=gpu,scraper=kubernetes_cluster"])
}

// A logs pipeline that takes nothing has the changes of pods wait once and not for each: client-go would hold them
// without a bound. The oldest are dropped, and counted.
func TestPodEventsOfAStuckPipeline(t *testing.T) {
	const most, waiting = 3000, 1024
	r := newStoppedRig(t, nil, gpuPod("first", 1))
	telemetry := r.measured()
	dropped := func() int64 { return counts(t, telemetry)["receiver=gpu,scraper=kubernetes_cluster"] }
	r.blocks = make(chan struct{})
	r.factory.waits.podQueue = time.Second
	var changing sync.WaitGroup
	t.Cleanup(changing.Wait)
	r.start()
	release := sync.OnceFunc(func() { close(r.blocks) })
	t.Cleanup(release)
	eventually(t, func() bool { return r.batches.Load() == 1 }, "the first pod is not sent")
	pods := r.source.pods.Load()
	changing.Go(func() {
		for i := range most {
			pod := lifecycle.New(gpuPod("p-"+strconv.Itoa(i), 1), nil, nil, nil)
			pods.take(func() { pods.tracker.Seen(pod) })
		}
	})
	eventually(t, func() bool { return dropped() == most-waiting }, "each change waits")
	release()
	eventually(t, func() bool { return r.logs.LogRecordCount() == 1+waiting }, "what waits is not sent")
	assert.NotEmpty(t, r.eventNames("p-"+strconv.Itoa(most-1)), "the newest are kept")
}

// Without the events pods are not followed.
func TestPodEventsDisabled(t *testing.T) {
	cfg, err := loadMap(map[string]any{"scrapers": map[string]any{"kubernetes_cluster": nil}})
	require.NoError(t, err)
	assert.True(t, cfg.sendsPodEvents())
	cfg.Events = metadata.EventsConfig{}
	assert.False(t, cfg.sendsPodEvents())
	cfg.Events.K8sPodGpuDeleted.Enabled = true
	assert.True(t, cfg.sendsPodEvents())
}
