// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"math"
)

// choices are the variables of the dashboards with which TestDashboards asks: all values, and each cluster by itself.
var choices = map[string]map[string]string{
	"all":  nil,
	"prod": {"cluster": "prod", "node": "node-a"},
	"lab":  {"cluster": "lab", "node": "node-b"},
}

// emptyPanels have no data in TestDashboards, for the reason.
var emptyPanels = map[string]string{
	"gpureceiver-collector: Processes that were left out":       "no node has more than max_processes processes",
	"gpureceiver-fleet: Firing alerts":                          noRulesHere,
	"gpureceiver-node: Firing alerts":                           noRulesHere,
	"gpureceiver-health: Firing alerts":                         noRulesHere,
	"gpureceiver-gpu: Firing alerts":                            noRulesHere,
	"gpureceiver-gpu: Fans":                                     "the boards have none",
	"gpureceiver-gpu: Parts of the compute engine":              "hw.gpu.pipe.utilization is off",
	"gpureceiver-health: Busy without work":                     "no GPU has been busy for ten minutes",
	"gpureceiver-health: XIDs":                                  "the XID was before the range",
	"gpureceiver-health: Memory banks with few spare rows":      "all banks have their spare rows",
	"gpureceiver-health: Not registered with the NVLink fabric": "all GPUs are",
	"gpureceiver-health: Requested actions":                     "no GPU wants a reset yet",
	"gpureceiver-health: Problems in the NVLink fabric":         "the driver finds nothing wrong yet",
}

const noRulesHere = "the Prometheus of this test has no rules"

// whenDrained are panels that have data when the driver asks for a GPU to be drained, and finds something wrong with it in the fabric.
var whenDrained = []string{
	"gpureceiver-health: Requested actions", "gpureceiver-health: Faults", "gpureceiver-health: Problems in the NVLink fabric",
}

// calculation is what a query should answer.
type calculation struct {
	values map[string]float64
	within float64 // as a share
}

// slack is how far an answer may be from a value.
func (c calculation) slack(value float64) float64 { return c.within*value + 1e-12 }

func (c calculation) same(got map[string]float64) bool {
	for labels, value := range c.values {
		if answer, ok := got[labels]; !ok || math.Abs(answer-value) > c.slack(value) {
			return false
		}
	}
	return len(got) == len(c.values)
}

// one is a single number.
func one(value float64) calculation { return calculation{values: map[string]float64{"": value}} }

// about is a number to some percent, as a rate over twenty seconds is.
func (c calculation) about() calculation {
	c.within = 0.15
	return c
}

// byLabels are numbers by labels.
func byLabels(values map[string]float64) calculation { return calculation{values: values} }

// The nodes of TestDashboards by hand. node-a, in the cluster prod, is the node of workloadScenario: GPU 5 is divided and has no utilization, and
// the second of its instances is free. node-b, of the cluster lab, has eight MI300X in eight partitions each.
const (
	h100, part         = 81559 << 20, 39680 << 20 // memory
	usedProd           = 80 << 30                 // 40 training, 10 stowaway, 8 and 16 servers, 4 sliced, 2 daemon
	mi300x, usedMI300X = 206141652992.0, 36e9
	utilProd           = (0.9 + 0.5 + 0.6 + 0.2) / 7 // of those that are not divided
	utilAll            = (0.9 + 0.5 + 0.6 + 0.2 + 8*0.35) / 15
	wattsProd          = 600 + 70 + 300 + 70 + 400 + 200 + 150 + 70
	wattsLab           = 8 * 318
	shareProd          = 100 * usedProd / (8.0 * h100)
	shareLab           = 100 * usedMI300X / mi300x
	shareAll           = 100 * (usedProd + 8*usedMI300X) / (8*h100 + 8*mi300x)
	idle               = 0.1 + 1 + 0.6 + 0.8          // training, notebook, the two servers; none on the instance
	wattsPods          = 600 + 70 + 400 + 150         // training, notebook, servers, stowaway
	wattsDaemon        = 0.2 * 150                    // of an unallocated GPU
	memoryPods         = (40 + 10 + 8 + 16 + 4) << 30 // of containers
	hour, kWh          = 3600, 3.6e6                  // in s, in J
)

var (
	inProd, inLab = `k8s_cluster_name="prod"`, `k8s_cluster_name="lab"`
	inML          = inProd + `, k8s_namespace_name="ml"`
	onA, onB      = inProd + `, node="node-a"`, inLab + `, node="node-b"`
	ofH100        = `hw_model="NVIDIA H100 80GB HBM3", hw_vendor="NVIDIA"`
	ofMI300X      = `hw_model="AMD Instinct MI300X OAM", hw_vendor="AMD"`
	gpus          = `k8s_resource_name="nvidia.com/gpu"`
	instances     = `k8s_resource_name="nvidia.com/mig-3g.40gb"`
	server        = inML + `, k8s_workload_kind="Deployment", k8s_workload_name="server"`
	train         = inML + `, k8s_workload_kind="Job", k8s_workload_name="train"`
	notebooks     = inML + `, k8s_workload_kind="StatefulSet", k8s_workload_name="notebook"`
)

// ofGPUs are numbers of the GPUs of node-a, by number; more has the numbers of its instances.
func ofGPUs(values map[int]float64, more map[string]float64, labels string) calculation {
	all := map[string]float64{}
	for i, value := range values {
		all[fmt.Sprintf(`hw_id=%q, hw_name="nvidia%d", %s`, gpu(i), i, labels)] = value
	}
	for name, value := range more {
		all[name+", "+labels] = value
	}
	return byLabels(all)
}

// ofGPUsWith are numbers of the GPUs of node-a, by number, each with a label whose name comes before hw_id.
func ofGPUsWith(label string, values map[int]float64) calculation {
	all := map[string]float64{}
	for i, value := range values {
		all[fmt.Sprintf(`%s, hw_id=%q, hw_name="nvidia%d", %s`, label, gpu(i), i, onA)] = value
	}
	return byLabels(all)
}

// ofMI300Xs are equal numbers of the GPUs of node-b.
func ofMI300Xs(value float64) calculation {
	all := map[string]float64{}
	for i := range 8 {
		all[fmt.Sprintf(`hw_id="a1b2c3d4e5f6%04x", hw_name="card%d", %s`, i, 8*i, onB)] = value
	}
	return byLabels(all)
}

// calculations are the answers by dashboard, panel, query if there are several, and choice of variables.
var calculations = map[string]calculation{
	"gpureceiver-fleet: GPUs":                      one(16),
	"gpureceiver-fleet: GPUs (prod)":               one(8),
	"gpureceiver-fleet: GPUs (lab)":                one(8),
	"gpureceiver-fleet: Failed":                    one(0),
	"gpureceiver-fleet: Missing":                   one(0),
	"gpureceiver-fleet: Allocated":                 one(4),
	"gpureceiver-fleet: Allocated (lab)":           byLabels(nil), // its agent has no kubelet
	"gpureceiver-fleet: Free":                      one(4),
	"gpureceiver-fleet: Nodes with GPUs":           one(2),
	"gpureceiver-fleet: Utilization":               one(utilAll),
	"gpureceiver-fleet: Utilization (prod)":        one(utilProd),
	"gpureceiver-fleet: Utilization (lab)":         one(0.35),
	"gpureceiver-fleet: Memory used":               one(shareAll),
	"gpureceiver-fleet: Memory used (prod)":        one(shareProd),
	"gpureceiver-fleet: Memory used (lab)":         one(shareLab),
	"gpureceiver-fleet: Power":                     one(wattsProd + wattsLab),
	"gpureceiver-fleet: Temperature":               one(70),
	"gpureceiver-fleet: Degrees left (lab)":        byLabels(nil), // AMD's driver reports none
	"gpureceiver-fleet: Throttled":                 one(1),
	"gpureceiver-fleet: Pending pods":              one(1),
	"gpureceiver-fleet: Unreadable sources":        one(1), // the cluster gone
	"gpureceiver-fleet: Unreadable sources (prod)": one(0),
	"gpureceiver-fleet: Utilization by cluster":    byLabels(map[string]float64{inProd: utilProd, inLab: 0.35}),
	"gpureceiver-fleet: Memory used by cluster":    byLabels(map[string]float64{inProd: shareProd, inLab: shareLab}),
	"gpureceiver-fleet: Power by cluster":          byLabels(map[string]float64{inProd: wattsProd, inLab: wattsLab}),
	"gpureceiver-fleet: GPUs by state": byLabels(map[string]float64{
		`hw_state="ok"`: 15, `hw_state="degraded"`: 0, `hw_state="failed"`: 0, `hw_state="predicted_failure"`: 1, // no spare row
	}),
	"gpureceiver-fleet: Allocated GPUs by cluster": byLabels(map[string]float64{inProd: 4}),
	"gpureceiver-fleet: Energy by cluster":         byLabels(map[string]float64{inProd: wattsProd, inLab: 0}).about(), // files that stand still
	"gpureceiver-fleet: Models: A":                 byLabels(map[string]float64{ofH100: 8, ofMI300X: 8}),
	"gpureceiver-fleet: Models: B":                 byLabels(map[string]float64{ofH100: utilProd, ofMI300X: 0.35}),
	"gpureceiver-fleet: Models: C":                 byLabels(map[string]float64{ofH100: usedProd, ofMI300X: 8 * usedMI300X}),
	"gpureceiver-fleet: Models: D":                 byLabels(map[string]float64{ofH100: wattsProd, ofMI300X: wattsLab}),
	"gpureceiver-fleet: Nodes: A":                  byLabels(map[string]float64{onA: 8, onB: 8}),
	"gpureceiver-fleet: Nodes: B":                  byLabels(map[string]float64{onA: 0, onB: 0}),
	"gpureceiver-fleet: Nodes: C":                  byLabels(map[string]float64{onA: utilProd, onB: 0.35}),
	"gpureceiver-fleet: Nodes: D":                  byLabels(map[string]float64{onA: usedProd, onB: 8 * usedMI300X}),
	"gpureceiver-fleet: Nodes: E":                  byLabels(map[string]float64{onA: wattsProd, onB: wattsLab}),
	"gpureceiver-fleet: Free by resource":          byLabels(map[string]float64{inProd + ", " + gpus: 4, inProd + ", " + instances: 1}),
	"gpureceiver-fleet: Pending pods by resource": byLabels(map[string]float64{
		inProd + ", " + gpus: 1, inProd + ", " + instances: 0,
	}),

	"gpureceiver-node: GPUs (prod)":        one(8),
	"gpureceiver-node: Failed (prod)":      one(0),
	"gpureceiver-node: Allocated (prod)":   one(4),
	"gpureceiver-node: Utilization (prod)": one(utilProd),
	"gpureceiver-node: Memory used (prod)": one(usedProd),
	"gpureceiver-node: Power (prod)":       one(wattsProd),
	"gpureceiver-node: GPUs (lab)":         one(8),
	"gpureceiver-node: Memory used (lab)":  one(8 * usedMI300X),
	"gpureceiver-node: Power (lab)":        one(wattsLab),
	"gpureceiver-node: Utilization of each GPU (prod)": ofGPUs(map[int]float64{
		0: 0.9, 1: 0, 2: 0.5, 3: 0, 4: 0.6, 6: 0.2, 7: 0,
	}, nil, onA),
	"gpureceiver-node: Memory of each device (prod)": ofGPUs(map[int]float64{
		0: 100 * (40 << 30) / float64(h100), 1: 0, 2: 100 * (10 << 30) / float64(h100), 3: 0, 4: 100 * (24 << 30) / float64(h100), 6: 100 * (2 << 30) / float64(h100), 7: 0,
	}, map[string]float64{
		`hw_id="MIG-00000000-0000-4000-8000-000000000050", hw_name="nvidia5/gi1/ci0"`: 100 * (4 << 30) / float64(part),
		`hw_id="MIG-00000000-0000-4000-8000-000000000051", hw_name="nvidia5/gi2/ci0"`: 0,
	}, onA),
	"gpureceiver-node: Power of each GPU (prod)": ofGPUs(map[int]float64{0: 600, 1: 70, 2: 300, 3: 70, 4: 400, 5: 200, 6: 150, 7: 70}, nil, onA),

	"gpureceiver-workloads: Held":                       one(5),                           // a GPU each, the servers one together, the instance
	"gpureceiver-workloads: In use":                     one(0.9 + 0.5 + 0.4 + 0.2 + 0.2), // the daemon, too
	"gpureceiver-workloads: Idle":                       one(idle).about(),
	"gpureceiver-workloads: Idle share of what is held": one(idle / 4).about(),
	"gpureceiver-workloads: Used without allocation":    one(1),
	"gpureceiver-workloads: Power":                      one(wattsPods + wattsDaemon),
	"gpureceiver-workloads: Held by namespace":          byLabels(map[string]float64{inML: 5}),
	"gpureceiver-workloads: In use by namespace":        byLabels(map[string]float64{inML: 2, inProd: 0.2}), // inProd: the daemon, which has no namespace
	"gpureceiver-workloads: Idle by namespace":          byLabels(map[string]float64{inML: idle}).about(),
	"gpureceiver-workloads: Requested by namespace":     byLabels(map[string]float64{inML + ", " + gpus: 5 + 8, inML + ", " + instances: 1}), // eight by the waiting pod
	"gpureceiver-workloads: Memory used by namespace":   byLabels(map[string]float64{inML: memoryPods, inProd: 2 << 30}),
	"gpureceiver-workloads: Memory held by namespace":   byLabels(map[string]float64{inML: 3*h100 + part}),
	"gpureceiver-workloads: Power by namespace":         byLabels(map[string]float64{inML: wattsPods, inProd: wattsDaemon}),
	"gpureceiver-workloads: Idle GPU hours":             one(20 * idle / hour).about(),
	"gpureceiver-workloads: Energy of containers":       one(20 * (wattsPods + wattsDaemon) / kWh).about(),
	"gpureceiver-workloads: Namespaces: A":              byLabels(map[string]float64{inML: 5}),
	"gpureceiver-workloads: Namespaces: B":              byLabels(map[string]float64{inML: 20 * idle / hour}).about(),
	"gpureceiver-workloads: Namespaces: C":              byLabels(map[string]float64{inML: 20 * wattsPods / kWh, inProd: 20 * wattsDaemon / kWh}).about(),
	"gpureceiver-workloads: Workloads: A":               byLabels(map[string]float64{server: 2, train: 1, notebooks: 1, inML: 1}),
	"gpureceiver-workloads: Workloads: B":               byLabels(map[string]float64{server: 20 * 1.4 / hour, train: 20 * 0.1 / hour, notebooks: 20.0 / hour}).about(),
	"gpureceiver-workloads: Workloads: C": byLabels(map[string]float64{
		server: 20 * 400 / kWh, train: 20 * 600 / kWh, notebooks: 20 * 70 / kWh, inML: 20 * 150 / kWh, inProd: 20 * wattsDaemon / kWh,
	}).about(),

	"gpureceiver-health: Healthy":           one(15),
	"gpureceiver-health: Healthy (lab)":     one(8),
	"gpureceiver-health: Degraded":          one(0),
	"gpureceiver-health: Failure predicted": one(1),
	"gpureceiver-health: Failed":            one(0),
	"gpureceiver-health: Missing":           one(0),
	"gpureceiver-health: Throttled":         one(1),
	"gpureceiver-health: Sources that cannot be read": byLabels(map[string]float64{
		`error_type="api_unreachable", hw_gpu_source_name="kubernetes_cluster", k8s_cluster_name="gone"`: 1,
	}),
	"gpureceiver-health: XIDs since the start of the collector": ofGPUs(nil, map[string]float64{
		fmt.Sprintf(`hw_gpu_xid="63", hw_id=%q, hw_name="nvidia3"`, gpu(3)): 1,
	}, onA),
	"gpureceiver-health: Lanes of PCI Express that are missing (prod)": ofGPUs(map[int]float64{7: 8}, nil, onA),

	"gpureceiver-health: Links that are down (prod)": ofGPUsWith(`hw_gpu_interconnect_type="nvlink"`, map[int]float64{6: 2}),
	"gpureceiver-health: Bad pages: A":               ofMI300Xs(150),
	"gpureceiver-health: Bad pages: B":               ofMI300Xs(256),
	"gpureceiver-health: Errors of PCI Express": byLabels(map[string]float64{
		`error_type="corrected", hw_gpu_pcie_device="gpu", hw_id="a1b2c3d4e5f60000", hw_name="card0", ` + onB: 4,
		`error_type="fatal", hw_gpu_pcie_device="gpu", hw_id="a1b2c3d4e5f60000", hw_name="card0", ` + onB:     1,
	}),

	"gpureceiver-health: ECC errors of SRAM and DRAM": ofGPUsWith(`error_type="corrected", hw_gpu_memory_type="dram"`, map[int]float64{3: 5}),

	"gpureceiver-collector: Collectors":                     one(3),
	"gpureceiver-collector: Reads that fail":                one(1), // the cluster gone
	"gpureceiver-collector: Quantities that cannot be read": one(0),
}
