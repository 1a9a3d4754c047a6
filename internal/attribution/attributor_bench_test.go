// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package attribution

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// BenchmarkDescribe attributes a node with 500 pods of two containers each. The pods have 8 GPUs alone, or time-sliced among all of them,
// with a process for each slot. The CPU time is the time of the whole test process, with the kubelet's side of the connection.
func BenchmarkDescribe(b *testing.B) {
	for _, slots := range []int{8, 500} {
		b.Run(fmt.Sprint(slots, " slots"), func(b *testing.B) {
			var objects []runtime.Object
			var pods []*podresourcesv1.PodResources
			node := nodeOf()
			for n := range 8 {
				node.Devices = append(node.Devices, device(n))
			}
			yes := true
			for n := range 500 {
				main, side := testContainer{fmt.Sprint("pod-", n), "main"}, testContainer{fmt.Sprint("pod-", n), "side"}
				pod := podOf(main, side)
				pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "u", Controller: &yes}}
				objects = append(objects, pod)
				resources := &podresourcesv1.ContainerResources{Name: main.name}
				if n < slots {
					id := uuid(n % 8)
					if slots > 8 {
						id += fmt.Sprint("::", n/8)
					}
					resources = kubelettest.Container(main.name, resource, id)
					run(node, int64(n+1), uuid(n%8), main, 1e9, 0.01)
				}
				pods = append(pods, kubelettest.Pod(main.pod, resources, &podresourcesv1.ContainerResources{Name: side.name}))
			}
			m := newMachine(b, nil, objects...).start()
			m.kubelet.Set(pods...)
			require.True(b, m.attributor.view.Pods.Synced())
			node.Vendor = gpu.NVIDIA
			b.ReportAllocs()
			used := cpuTime(b)
			for b.Loop() {
				node.Problems = node.Problems[:0]
				m.attributor.Describe(context.Background(), node)
			}
			b.ReportMetric(float64(cpuTime(b)-used)/float64(b.N), "cpu-ns/op")
			require.Empty(b, node.Problems)
			require.Len(b, node.Containers, slots)
			for i := range node.Containers {
				require.Equal(b, gpu.Some(true), node.Containers[i].Allocated)
				require.True(b, node.Containers[i].MemoryUsage.Known(), "its process is counted")
			}
		})
	}
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
