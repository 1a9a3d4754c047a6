// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// otherEvents returns one event of each kind but hw.gpu.status and hw.gpu.xid, an hour old and older, the newest first.
func otherEvents() []view.Event {
	events := []view.Event{
		ofGPU("hw.gpu.throttled.ended", "INFO", "GPU-n1-3", "nvidia3 (NVIDIA H100 80GB HBM3) is not throttled any more, after 12m0s: hw_thermal_slowdown"),
		ofGPU("hw.gpu.throttled.started", "WARN", "GPU-n1-3", "nvidia3 (NVIDIA H100 80GB HBM3) has been throttled for 1m0s: hw_thermal_slowdown; check the fans, the air flow and the coolant"),
		ofGPU("hw.gpu.pcie_error", "WARN", "GPU-n1-2", "corrected PCI Express error on nvidia2 (NVIDIA H100 80GB HBM3)"),
		ofGPU("hw.gpu.lost", "FATAL", "GPU-n1-2", "nvidia2 (NVIDIA H100 80GB HBM3) has fallen off the bus; restart the node"),
		ofCard("hw.gpu.reset", "WARN", "GPU reset succeeded on card0 (AMD Instinct MI300X); restart the application"),
		ofCard("hw.gpu.ring_timeout", "ERROR", "ring gfx_0.0.0 did not complete a job in time on card0 (AMD Instinct MI300X); restart the application"),
		ofCard("hw.gpu.ras_error", "ERROR", "uncorrected hardware errors in umc on card0 (AMD Instinct MI300X), 2 new; reset the GPU unless the driver does so"),
		ofCard("hw.gpu.bad_pages", "WARN", "bad pages of memory were taken out of use on card0 (AMD Instinct MI300X), 16 new"),
		nodeEvent("hw.gpu.source.recovered", "INFO", "prod", "n1", "nvml is readable again"),
		nodeEvent("hw.gpu.source.failed", "WARN", "prod", "n1", "nvml cannot be read: nvml: initialise libnvidia-ml.so.1: driver not loaded; load the nvidia kernel module"),
		ofGPU("process.gpu.exited", "INFO", "GPU-n1-0", "python3 does not use the GPU any more"),
		ofGPU("process.gpu.started", "INFO", "GPU-n1-0", "python3 uses the GPU"),
		ofGPU("container.gpu.released", "INFO", "GPU-n1-0", "ml/train-0/trainer released nvidia0 (NVIDIA H100 80GB HBM3) after 2h1m1s, busy for 1h50m0s"),
		ofGPU("container.gpu.allocated", "INFO", "GPU-n1-0", "nvidia0 (NVIDIA H100 80GB HBM3) allocated to ml/train-0/trainer"),
		ofPod("deleted", "INFO", "ml/train-0 was deleted"),
		ofPod("finished", "ERROR", "ml/train-0 has failed: container trainer ended with exit code 1: Error"),
		ofPod("evicted", "WARN", "ml/train-0 is evicted: Eviction API: evicting"),
		ofPod("restarted", "ERROR", "ml/train-0: container trainer restarted (1 times) after exit code 137: OOMKilled"),
		ofPod("condition", "INFO", "ml/train-0: Ready is True"),
		ofPod("phase", "INFO", "ml/train-0 is Running"),
		ofPod("scheduled", "INFO", "ml/train-0 was scheduled to n1"),
		ofPod("pending", "WARN", "ml/train-0 is not scheduled: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
		ofPod("created", "INFO", "ml/train-0 was created and requests 2 nvidia.com/gpu"),
		ofPod("snapshot", "INFO", `{"metadata":{"namespace":"ml","name":"train-0","uid":"uid-train-0"},"status":{"phase":"Pending"}}`),
		ofWorkload("ended", "StatefulSet ml/train has ended"),
		ofWorkload("changed", "StatefulSet ml/train has 2 pods instead of 1"),
		ofWorkload("started", "StatefulSet ml/train started"),
		nodeEvent("hw.gpu.switch_error", "WARN", "prod", "n1", "non-fatal error (SXid 10003) on nvidia-nvswitch0"),
	}
	for i := range events {
		events[i].UID = fmt.Sprintf("other-%02d", len(events)-i)
		events[i].Time = Now.Add(-time.Hour - time.Duration(i)*time.Second)
		events[i].Observed = events[i].Time
	}
	return events
}

// nodeEvent returns an event of a node.
func nodeEvent(name, severity, cluster, node, body string) view.Event {
	return view.Event{Name: name, Severity: severity, Cluster: &cluster, Node: &node, Body: &body, Attributes: map[string]any{}}
}

// ofGPU returns an event of a GPU of prod/n1.
func ofGPU(name, severity, id, body string) view.Event {
	e := nodeEvent(name, severity, "prod", "n1", body)
	e.GPU = &id
	return e
}

// ofCard returns an event of the first GPU of lab/n1.
func ofCard(name, severity, body string) view.Event {
	e := nodeEvent(name, severity, "lab", "n1", body)
	e.GPU = new(fmt.Sprintf("%016x", 0xabc0))
	return e
}

// ofPod returns an event of prod's pod ml/train-0.
func ofPod(change, severity, body string) view.Event {
	e := nodeEvent("k8s.pod.gpu."+change, severity, "prod", "n1", body)
	e.Attributes = map[string]any{"k8s.namespace.name": "ml", "k8s.pod.name": "train-0", "k8s.pod.uid": "uid-train-0", "k8s.workload.name": "train"}
	return e
}

// ofWorkload returns an event of prod's workload ml/train. It has no node.
func ofWorkload(change, body string) view.Event {
	e := nodeEvent("k8s.workload.gpu."+change, "INFO", "prod", "", body)
	e.Node = nil
	e.Attributes = map[string]any{"k8s.namespace.name": "ml", "k8s.workload.kind": "StatefulSet", "k8s.workload.name": "train"}
	return e
}
