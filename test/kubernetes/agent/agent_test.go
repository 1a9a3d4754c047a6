// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

const gib = int64(1) << 30

// step runs a step. The next ones build on it.
func step(t *testing.T, name string, do func(t *testing.T)) {
	t.Helper()
	start := time.Now()
	require.True(t, t.Run(name, do), "the next steps build on this one")
	t.Logf("%s: %.1f s", name, time.Since(start).Seconds())
}

// place puts a container's process on a device.
func (w *world) place(t *testing.T, pod, container, device string, memory int64, sm int) {
	t.Helper()
	proc := process(t, pod, container)
	w.witness.process(proc.pid, pod, container)
	w.use(t, user{
		name: pod + "." + container + "." + device, device: device, pid: proc.pid, memory: memory, sm: sm,
		pod: pod, container: container,
	})
}

// TestAgent plays the events on a node. After every step the container and process metrics must show exactly the state that the test
// created, with names, UIDs, ids and owners from the API server, and the kubelet must report the same allocations.
func TestAgent(t *testing.T) {
	w := newWorld(t)
	owners := w.ownersPart(t)
	w.startCollector(t, askKubelet, processes, owners)
	step(t, "nobody", func(t *testing.T) { w.expect(t) })
	step(t, "init container", w.early)
	step(t, "pods come and go", w.comeAndGo)
	step(t, "jobs of a pod", w.jobsOfPod)
	step(t, "devices that are no GPUs", w.otherDevices)
	step(t, "reservation and its tenants", w.reserved)
	step(t, "idle", w.idle)
	step(t, "several devices in a container", w.several)
	step(t, "time-sliced, owned by a Deployment", w.timeSliced)
	step(t, "partition, owned by a CronJob", w.partition)
	step(t, "claims", w.claims)
	step(t, "claim in parts", w.claimInParts)
	step(t, "extended resource of a driver", w.extendedByDriver)
	step(t, "claim for administration", w.looksAfter)
	step(t, "claim of two pods", w.sharedByPods)
	step(t, "claim of an init container", w.claimOfEarly)
	step(t, "claim of several devices", w.claimOfSeveral)
	step(t, "used, not allocated", w.notAllocated)
	step(t, "gateway", func(t *testing.T) { w.gateway(t, owners) })
	step(t, "container restarts", w.containerRestarts)
	step(t, "device plugin restarts", w.pluginRestarts)
	step(t, "kubelet restarts", w.kubeletRestarts)
	step(t, "kubelet hangs", w.kubeletHangs)
	step(t, "collector restarts", func(t *testing.T) { w.collectorRestarts(t, owners) })
	step(t, "collector and kubelet restart", func(t *testing.T) { w.bothRestart(t, owners) })
	step(t, "API server away", w.apiServerAway)
	step(t, "container restarts without API server", w.containerAlone)
	step(t, "kubelet restarts without API server", w.kubeletAlone)
	step(t, "collector restarts without API server", func(t *testing.T) { w.collectorAlone(t, owners) })
	step(t, "no API access", w.noAPI)
	step(t, "no names", w.noNames)
	step(t, "no socket", w.noSocket)
	step(t, "socket refused", w.refused)
	step(t, "no host PIDs", w.otherProcesses)
}

func (w *world) comeAndGo(t *testing.T) {
	w.run(t, "first", box("main", wholeResource, 1))
	w.want["first/main"] = holdsOf(wholeResource, devices(t, "first", "main")...)
	w.expect(t)
	w.place(t, "first", "main", w.want["first/main"][0].device, 7*gib, 40)
	points := w.expect(t)
	busy, _ := points.Value("container.gpu.utilization", "k8s.pod.name", "first", "hw.gpu.task", "general")
	assert.InDelta(t, 0.4, busy, 1e-9)
	w.remove(t, "first", "main")
	w.expect(t)

	// A new pod of the same name is another pod. A pod that has ended holds nothing any more, although it still exists.
	once := spec(box("main", wholeResource, 1))
	once.RestartPolicy = corev1.RestartPolicyNever
	w.runSpec(t, "first", once)
	w.want["first/main"] = holdsOf(wholeResource, devices(t, "first", "main")...)
	w.expect(t)
	require.NoError(t, syscall.Kill(process(t, "first", "main").pid, syscall.SIGTERM))
	eventually(t, "the pod ends", func() bool {
		pod, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "first", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodSucceeded
	})
	w.forget(t, "first", "main")
	w.expect(t)
	w.remove(t, "first")
}

// idle: a container that holds a GPU and runs nothing on it is reported as leaving it idle.
func (w *world) idle(t *testing.T) {
	w.run(t, "train", box("main", wholeResource, 1))
	w.want["train/main"] = holdsOf(wholeResource, devices(t, "train", "main")...)
	rested := func(points harness.Points) float64 {
		seconds, ok := points.Value("container.gpu.idle.time", "k8s.pod.name", "train")
		require.True(t, ok)
		return seconds
	}
	first := w.expect(t)
	second := w.expect(t)
	between := second[0].Time.AsTime().Sub(first[0].Time.AsTime()).Seconds()
	assert.InDelta(t, between, rested(second)-rested(first), 0.2)

	w.place(t, "train", "main", w.want["train/main"][0].device, 5*gib, 100)
	first = w.expect(t)
	second = w.expect(t)
	assert.InDelta(t, 0, rested(second)-rested(first), 0.2)
}

func (w *world) several(t *testing.T) {
	w.run(t, "wide", box("main", wholeResource, 2), idle("side"))
	devices := devices(t, "wide", "main")
	require.Len(t, devices, 2)
	w.want["wide/main"] = holdsOf(wholeResource, devices...)
	w.expect(t)
	w.place(t, "wide", "main", devices[0], 2*gib, 10)
	w.place(t, "wide", "main", devices[1], 3*gib, 20)
	w.expect(t)
}

func (w *world) timeSliced(t *testing.T) {
	labels := map[string]string{"app": "serve"}
	pods := spec(box("a", sharedResource, 1), box("b", sharedResource, 1))
	always, sidecar := corev1.ContainerRestartPolicyAlways, box("c", sharedResource, 2)
	sidecar.RestartPolicy = &always
	pods.InitContainers = []corev1.Container{sidecar}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "serve"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pods},
		},
	}
	_, err := w.client.AppsV1().Deployments(w.namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := w.podOf(t, "app=serve")
	for _, container := range []string{"a", "b", "c"} {
		// Two slots of one device are one device.
		w.want[pod+"/"+container] = shared("replicas", holdsOf(sharedResource, gpu(sharedGPU)))
	}
	w.expect(t)

	w.place(t, pod, "a", gpu(sharedGPU), 4*gib, 20)
	w.place(t, pod, "b", gpu(sharedGPU), 6*gib, 50)
	for _, container := range []string{"a", "b", "c"} {
		shared("time_slicing", w.want[pod+"/"+container])
	}
	points := w.expect(t)
	for container, share := range map[string]float64{"a": 0.2, "b": 0.5, "c": 0} {
		busy, ok := points.Value("container.gpu.utilization", "k8s.container.name", container, "hw.gpu.task", "general")
		require.True(t, ok)
		assert.InDelta(t, share, busy, 1e-9)
		_, limited := points.Value("container.gpu.memory.limit", "k8s.container.name", container)
		assert.False(t, limited, "no container has the device's memory to itself")
	}
}

func (w *world) partition(t *testing.T) {
	labels := map[string]string{"app": "nightly"}
	pods := spec(box("large", largeMIG, 1), box("small", smallMIG, 1))
	pods.RestartPolicy = corev1.RestartPolicyOnFailure
	template := batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pods},
	}}
	suspended := true
	cron, err := w.client.BatchV1().CronJobs(w.namespace).Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "nightly"},
		Spec:       batchv1.CronJobSpec{Schedule: "0 3 * * *", Suspend: &suspended, JobTemplate: template},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	// As `kubectl create job --from=cronjob/nightly` does.
	_, err = w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "nightly-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := w.podOf(t, "app=nightly")
	w.want[pod+"/large"] = holdsOf(largeMIG, mig(0))
	w.want[pod+"/small"] = holdsOf(smallMIG, mig(1))
	w.expect(t)
	w.place(t, pod, "large", mig(0), 9*gib, 0)
	w.place(t, pod, "small", mig(1), 2*gib, 0)
	w.expect(t)
}

// notAllocated: a process in a pod without a device, and one outside of pods.
func (w *world) notAllocated(t *testing.T) {
	w.run(t, "thief", idle("main"))
	w.expect(t)
	w.want["thief/main"] = []hold{{device: gpu(spareGPU)}}
	w.place(t, "thief", "main", gpu(spareGPU), gib, 30)
	w.expect(t)
	// On a GPU that another container holds alone, each of the two is reported with the usage of its own processes.
	id := w.want["wide/main"][0].device
	w.want["thief/main"] = append(w.want["thief/main"], hold{device: id})
	w.place(t, "thief", "main", id, 3*gib, 50)
	points := w.expect(t)
	for pod, share := range map[string]float64{"thief": 0.5, "wide": 0.1} {
		busy, ok := points.Value("container.gpu.utilization", "k8s.pod.name", pod, "hw.id", id, "hw.gpu.task", "general")
		require.True(t, ok)
		assert.InDelta(t, share, busy, 1e-9, pod)
	}

	number := w.plugin.PID()
	w.witness.process(number, "", "")
	w.use(t, user{name: "outside", device: gpu(spareGPU), pid: number, memory: 3 * gib, sm: 10})
	w.expect(t)
	w.unuse(t, "outside")
	w.remove(t, "thief", "main")
	w.expect(t)
}
