// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

const (
	remotePod       = "11111111-2222-4333-8444-555555555555"
	remoteContainer = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	remoteCgroup    = "0::/kubepods.slice/kubepods-pod11111111_2222_4333_8444_555555555555.slice/cri-containerd-" + remoteContainer + ".scope\n"
)

// remoteTool answers as nvidia-smi in a driver pod with two GPUs.
type remoteTool struct{}

func (remoteTool) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	values := map[string][2]string{
		"index": {"0", "1"}, "uuid": {"GPU-a", "GPU-b"}, "name": {"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"},
		"pci.bus_id": {"00000000:18:00.0", "00000000:2A:00.0"}, "driver_version": {"570.86.15", "570.86.15"},
		"utilization.gpu": {"90 %", "0 %"}, "memory.total": {"81559 MiB", "81559 MiB"}, "memory.used": {"70000 MiB", "500 MiB"},
		"power.draw": {"600.00 W", "[N/A]"}, "temperature.gpu": {"61", "30"}, "mig.mode.current": {"Disabled", "Disabled"},
	}
	results := make([]command.Result, 0, len(commands))
	for _, c := range commands {
		var out strings.Builder
		switch fields, _ := strings.CutPrefix(c.Args[0], "--query-gpu="); {
		case c.Args[0] == "--help-query-gpu":
			for field := range values {
				fmt.Fprintf(&out, "%q\nA field.\n\n", field)
			}
		case fields != c.Args[0]:
			requests := strings.Split(fields, ",")
			out.WriteString(strings.Join(requests, ", ") + "\n")
			for i := range 2 {
				row := make([]string, len(requests))
				for j, field := range requests {
					row[j] = values[field][i]
				}
				out.WriteString(strings.Join(row, ", ") + "\n")
			}
		case strings.HasPrefix(c.Args[0], "--query-compute-apps="):
			out.WriteString("pid, gpu_uuid, used_gpu_memory [MiB], process_name\n" +
				"4100, GPU-a, 60000 MiB, python3\n4200, GPU-a, 9000 MiB, /usr/bin/tritonserver\n4300, GPU-b, 400 MiB, nvidia-cuda-mps-server\n")
		case c.Args[0] == "-q":
			out.WriteString("<nvidia_smi_log><driver_version>570.86.15</driver_version>" +
				"<gpu id=\"00000000:18:00.0\"><uuid>GPU-a</uuid><minor_number>0</minor_number></gpu>" +
				"<gpu id=\"00000000:2A:00.0\"><uuid>GPU-b</uuid><minor_number>1</minor_number></gpu></nvidia_smi_log>\n")
		case c.Args[0] == "pmon":
			out.WriteString("# gpu        pid  type    sm   mem   enc   dec    fb   command\n# Idx          #   C/G     %     %     %     %    MB   name\n" +
				"    0       4100     C    60    20     -     - 60000   python3\n" +
				"    0       4200     C    25     9     -     -  9000   tritonserver\n" +
				"    1       4300     C     -     -     -     -   400   nvidia-cuda-mps\n")
		case strings.HasPrefix(c.Args[0], "--query-remapped-rows="):
			out.WriteString("gpu_uuid, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n" +
				"GPU-a, 0, 0, 0, 0\nGPU-b, 2, 0, 1, 0\n")
		default:
			return results, fmt.Errorf("nvidia-smi %v is not asked for by query: fast", c.Args)
		}
		results = append(results, command.Result{Stdout: []byte(out.String())})
	}
	return results, nil
}

// A node that is read remotely: its GPUs, its processes, and the container whose names the cluster's API provides. The kubelet's
// allocations are not known, so none are reported.
func TestGoldenRemote(t *testing.T) {
	controller := true
	client := fake.NewClientset(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "train-0", UID: remotePod, Labels: map[string]string{"cost-center": "42"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "train", UID: "u-1", Controller: &controller}},
		},
		Spec: corev1.PodSpec{NodeName: "gpu-1"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", ContainerID: "containerd://" + remoteContainer,
		}}},
	})
	view, err := kube.NewView(&kube.Clients{Kubernetes: client}, kube.ViewOptions{Pods: kube.PodsOptions{Labels: []string{"cost-center"}}})
	require.NoError(t, err)
	view.Start()
	t.Cleanup(view.Stop)
	require.True(t, view.WaitSynced(t.Context()))

	cfg := fleetConfig(t, prod())
	cfg.MaxProcesses = defaultMaxProcesses
	now := simEpoch
	reader := nvidiasmi.New(nvidiasmi.Config{Query: nvidiasmi.QueryFast}, remoteTool{}, cfg.groups(true, false, true),
		nvidiasmi.WithClock(func() time.Time { return now }))
	users := attribution.NewRemote(view, time.Minute)
	sink := &consumertest.MetricsSink{}
	f := stoppedFleet(t, cfg, zap.NewNop(), sink, nil)
	for range 2 {
		node, err := reader.Read(t.Context())
		require.NoError(t, err)
		require.Empty(t, node.Problems)
		node.Host = gpu.Host{NodeName: "gpu-1", ClusterName: "prod", Labels: map[string]string{"k8s.node.label.zone": "a"}}
		node.CompleteIDs()
		for i := range node.Processes {
			p := &node.Processes[i]
			switch p.PID {
			case 4100:
				p.Created, p.Cgroup = simEpoch.Add(-time.Hour), remoteCgroup
			case 4300:
				p.Created, p.Cgroup = simEpoch.Add(-time.Hour), "0::/system.slice/nvidia-mps.service\n"
			case 4200: // a container whose pod the API does not know
				p.Created, p.Cgroup = simEpoch.Add(-time.Minute), strings.NewReplacer("1111", "9999", "0123", "3210").Replace(remoteCgroup)
			}
		}
		users.Describe(t.Context(), node)
		f.send(t.Context(), "prod", node, nil)
		now = now.Add(30 * time.Second)
	}
	require.Len(t, sink.AllMetrics(), 2)
	compare(t, "remote.yaml", withoutStarts(sink.AllMetrics()[1]))
}
