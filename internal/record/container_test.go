// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The names of a container identify its points only if both are known.
func TestContainerOnItsPoints(t *testing.T) {
	for _, c := range []struct {
		container gpu.Container
		want      map[string]any
	}{
		{
			gpu.Container{ID: "c1", Name: "main", PodName: "train-0", Namespace: "ml", SlurmJob: "1"},
			attrs("k8s.container.name", "main", "k8s.pod.name", "train-0", "k8s.namespace.name", "ml", "slurm.job.id", "1"),
		},
		{gpu.Container{ID: "c1", PodName: "train-0"}, attrs("container.id", "c1", "k8s.pod.name", "train-0")},
		{gpu.Container{ID: "c1", Name: "main"}, attrs("container.id", "c1", "k8s.container.name", "main")},
		{gpu.Container{ID: "c1", SlurmJob: "1"}, attrs("container.id", "c1", "slurm.job.id", "1")},
		{gpu.Container{SlurmJob: "1", SlurmUser: "ada", SlurmAccount: "physics", SlurmPartition: "gpu"}, attrs("slurm.job.id", "1")},
		{gpu.Container{SlurmSLUID: "sEKNKTV3WPV500"}, attrs("slurm.job.sluid", "sEKNKTV3WPV500")},
		{gpu.Container{BatchSystem: "pbs", BatchJob: "7.pbs"}, attrs("batch.system", "pbs", "batch.job.id", "7.pbs")},
		{gpu.Container{SystemdUnit: "ollama.service"}, attrs("systemd.unit.name", "ollama.service")},
		{gpu.Container{RuntimeName: "web"}, attrs("container.name", "web")},
		{gpu.Container{RuntimeName: "web", ID: "c1"}, attrs("container.id", "c1")},
	} {
		points := recordAll(&gpu.Node{
			Time: readAt, Containers: []gpu.ContainerUse{{Container: &c.container, DeviceID: gpuID, MemoryUsage: gpu.Some[int64](7)}},
		})
		require.Len(t, points, 1)
		assert.Equal(t, withAttribute(c.want, "hw.id", gpuID), points[0].Attributes)
	}
}

// A container that hangs in the driver can exist at the same time as the new container with its names.
func TestContainersOfOneName(t *testing.T) {
	old := gpu.Container{ID: "c1", Name: "main", PodName: "train-0", PodUID: "u1", Namespace: "ml"}
	recreated, other, elsewhere := old, old, old
	recreated.ID, recreated.PodUID = "c2", "u2"
	other.ID, other.Name = "c3", "helper"
	elsewhere.ID, elsewhere.Namespace = "c4", "dev"
	node := gpu.Node{Time: readAt}
	for _, c := range []*gpu.Container{&old, &recreated, &other, &elsewhere} {
		node.Containers = append(node.Containers, gpu.ContainerUse{Container: c, DeviceID: gpuID, MemoryUsage: gpu.Some[int64](7)})
	}
	var ids []any
	for _, p := range recordAll(&node) {
		ids = append(ids, p.Attributes["container.id"])
	}
	assert.Equal(t, []any{"c1", "c2", nil, nil}, ids)
}

// After the clock was set back, no point ends before it starts.
func TestContainerTotalsAfterClockWasSetBack(t *testing.T) {
	for _, tt := range []struct{ since, want time.Time }{{readAt.Add(-time.Hour), readAt.Add(-time.Hour)}, {readAt.Add(time.Hour), readAt}} {
		total := gpu.TotalSince(7.0, tt.since)
		points := recordAll(&gpu.Node{Time: readAt, Containers: []gpu.ContainerUse{
			{Container: &gpu.Container{ID: "c1"}, DeviceID: gpuID, Energy: total, IdleTime: total},
		}})
		require.Len(t, points, 2)
		for _, p := range points {
			assert.True(t, tt.want.Equal(p.Start.AsTime()), p.Metric)
		}
	}
}

// Each kind of owner that the conventions have has its own attributes, in its own API group only. The topmost owner is the workload.
func TestOwners(t *testing.T) {
	for _, tt := range []struct{ apiVersion, kind, name string }{
		{"apps/v1", "ReplicaSet", "replicaset"},
		{"apps/v1", "Deployment", "deployment"},
		{"apps/v1", "StatefulSet", "statefulset"},
		{"apps/v1", "DaemonSet", "daemonset"},
		{"batch/v1", "Job", "job"},
		{"batch/v1", "CronJob", "cronjob"},
		{"batch/v1beta1", "CronJob", "cronjob"},
		{"ray.io/v1", "RayCluster", ""},
		{"batch.volcano.sh/v1alpha1", "Job", ""},
		{"batch.volcano.sh/v1alpha1", "CronJob", ""},
		{"apps.kruise.io/v1beta1", "StatefulSet", ""},
		{"apps.kruise.io/v1alpha1", "DaemonSet", ""},
		{"apps/v1", "Job", ""},
		{"batch/v1", "Deployment", ""},
		{"apps", "Deployment", ""},
		{"", "Job", ""},
	} {
		t.Run(tt.apiVersion+" "+tt.kind, func(t *testing.T) {
			want := attrs("k8s.workload.kind", tt.kind, "k8s.workload.name", "it")
			if tt.name != "" {
				want = join(want, attrs("k8s."+tt.name+".name", "it", "k8s."+tt.name+".uid", "u1"))
			}
			assert.Equal(t, join(want, attrs("k8s.container.name", "main")), ownedBy(t, gpu.Owner{APIVersion: tt.apiVersion, Kind: tt.kind, Name: "it", UID: "u1"}))
		})
	}
}

// If a pod has two owners of a kind, the attributes name the nearer one. A worker of a LeaderWorkerSet is in the StatefulSet of its group. The
// leader's pod owns that StatefulSet, and is in the StatefulSet of the leaders.
func TestNearestOwner(t *testing.T) {
	assert.Equal(t, attrs(
		"k8s.container.name", "main", "k8s.statefulset.name", "sglang-0", "k8s.statefulset.uid", "s1",
		"k8s.workload.kind", "LeaderWorkerSet", "k8s.workload.name", "sglang",
	), ownedBy(t,
		gpu.Owner{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "sglang-0", UID: "s1"},
		gpu.Owner{APIVersion: "v1", Kind: "Pod", Name: "sglang-0", UID: "p1"},
		gpu.Owner{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "sglang", UID: "s0"},
		gpu.Owner{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet", Name: "sglang", UID: "l1"},
	))
}

// ownedBy returns the resource attributes of a container whose pod has these owners.
func ownedBy(t *testing.T, owners ...gpu.Owner) map[string]any {
	t.Helper()
	container := &gpu.Container{Name: "main", Owners: owners}
	points := recordAll(&gpu.Node{
		Time: readAt, Containers: []gpu.ContainerUse{{Container: container, DeviceID: gpuID, MemoryUsage: gpu.Some[int64](7)}},
	})
	require.Len(t, points, 1)
	return points[0].Resource
}
