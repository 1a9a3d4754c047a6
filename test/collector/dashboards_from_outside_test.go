// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
	"github.com/otelgpu/gpureceiver/test/fleet/simulation"
)

// emptyFromOutside are panels that kubernetes_exec brings no data for, for the reason, beside those that say so themselves.
var emptyFromOutside = map[string]string{
	"gpureceiver-collector: Quantities that cannot be read": "counted for the collector's own machine",
	"gpureceiver-collector: Processes that were left out":   "no node has more than max_processes processes",
	"gpureceiver-collector: Points that could not be sent":  "all were sent",

	"gpureceiver-fleet: Energy by cluster":         noSuchField,
	"gpureceiver-node: NVLink, XGMI":               noSuchField,
	"gpureceiver-gpu: Energy":                      noSuchField,
	"gpureceiver-gpu: Temperature: B":              noSuchField,
	"gpureceiver-gpu: ECC errors of SRAM and DRAM": noSuchField,
	"gpureceiver-gpu: Fans":                        noSuchField,
	"gpureceiver-gpu: NVLink, XGMI":                noSuchField,

	"gpureceiver-health: Degrees below the limit":                              noSuchField,
	"gpureceiver-health: Memory banks with few spare rows":                     noSuchField,
	"gpureceiver-health: Memory errors":                                        allWell,
	"gpureceiver-health: ECC errors of SRAM and DRAM":                          allWell,
	"gpureceiver-health: Remapped rows":                                        allWell,
	"gpureceiver-health: Rows that wait for a reset, or could not be replaced": allWell,
	"gpureceiver-health: Throttled now":                                        allWell,
	"gpureceiver-health: Share of time throttled":                              allWell,
	"gpureceiver-health: Lanes of PCI Express that are missing":                allWell,
	"gpureceiver-gpu: Parts of the compute engine":                             "hw.gpu.pipe.utilization is off, and the tool does not print it",
	"gpureceiver-fleet: Firing alerts":                                         noRulesHere,
	"gpureceiver-gpu: Firing alerts":                                           noRulesHere,
	"gpureceiver-node: Firing alerts":                                          noRulesHere,
	"gpureceiver-health: Firing alerts":                                        noRulesHere,
	"gpureceiver-health: Busy without work":                                    "no GPU has been busy for ten minutes",
	"gpureceiver-health: Bad pages: A":                                         noSuchField,
	"gpureceiver-health: Bad pages: B":                                         noSuchField,
	"gpureceiver-health: Links that are down":                                  noSuchField,
	"gpureceiver-health: Not registered with the NVLink fabric":                noSuchField,
	"gpureceiver-health: Problems in the NVLink fabric":                        noSuchField,
	"gpureceiver-health: Errors of PCI Express":                                "they are those of the collector's own machine",
	"gpureceiver-health: Errors of NVLink":                                     noSuchField,
	"gpureceiver-health: Replays of PCI Express":                               noSuchField,
	"gpureceiver-health: XIDs":                                                 "the tool shows no XIDs",
	"gpureceiver-health: XIDs since the start of the collector":                "the tool shows no XIDs",
	"gpureceiver-health: Sources that cannot be read":                          "all can be read",
	"gpureceiver-health: Faults":                                               "the GPUs have none",
	"gpureceiver-health: Requested actions":                                    "it asks for nothing",
}

const allWell = "the GPUs are well"

const noSuchField = "the tool is not asked for it, or does not print it"

// stoppedTool is nvidia-smi on a node at one time, so that its values can be added up.
type stoppedTool struct {
	machine *simulation.Machine
	time    time.Time
}

// box is the container of a driver pod, in which the tool runs.
func (s stoppedTool) box(w simulation.Workload) exectest.Box {
	shell := &simulation.Shell{Tool: simulation.NewTool()}
	return func(argv []string, stdout, stderr io.Writer, _ <-chan struct{}) (int, error) {
		return shell.Run(s.machine, w, argv, s.time, stdout, stderr)
	}
}

// sum adds up a column of what the tool prints.
func (s stoppedTool) sum(t *testing.T, field string) (total float64) {
	t.Helper()
	table, code := simulation.NewTool().Run(s.machine, []string{"--query-gpu=" + field, "--format=csv"}, s.time)
	require.Zero(t, code, table)
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	require.Len(t, rows, s.machine.GPUs)
	for _, row := range rows {
		value, err := strconv.ParseFloat(strings.Fields(row)[0], 64)
		require.NoError(t, err)
		total += value
	}
	return total
}

// Every query of every panel runs on a Prometheus that has nothing but what a collector with exec.yaml sends over OTLP, its own metrics with it: it has
// no page. Panels that need an agent or a cluster's reader are empty; the others have data.
func TestDashboardsFromOutside(t *testing.T) {
	t.Parallel()
	address := shippedOTLP(t, noRules)
	if address == "" {
		t.Skip("no Prometheus that takes OTLP")
	}
	const gpus = 4
	tool := stoppedTool{&simulation.Machine{Number: 5, GPUs: gpus}, time.Unix(1_780_000_000, 0)}
	server := exectest.NewServer(t)
	driver, node := exectest.Driver("node-c")
	server.Set(func() {
		server.Boxes[driver.Name] = tool.box(simulation.Workload{PodUID: serverA.uid(), ContainerID: serverA.id()})
	})
	server.Put(node)
	server.Put(driver)
	server.Put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: serverA.pod, UID: types.UID(serverA.uid())},
		Spec:       corev1.PodSpec{NodeName: "node-c", Containers: []corev1.Container{{Name: serverA.container}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: serverA.container, ContainerID: "containerd://" + serverA.id(), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}},
	})
	n := prepare(t, spec{})
	outside := shipped{
		configs: []string{"exec.yaml"},
		scrapers: fmt.Sprintf("scrapers: {kubernetes_exec: {clusters: [{name: prod, endpoint: %q, token_file: %q, ca_file: %q}]}}",
			server.URL, filepath.Join(server.Dir, "token"), filepath.Join(server.Dir, "ca.crt")),
		more: "receivers: {gpu: {collection_interval: 6s, timeout: 6s}}\n" + sending(address, true), // less time is too short for processes
	}
	_, n.process = outside.start(t, n.dir, n.sink)
	eventually(t, patience, "the containers", func() bool {
		return ask(t, address, `count(container_gpu_memory_usage_bytes{k8s_pod_name="`+serverA.pod+`"})`) == gpus
	})
	eventually(t, patience, "two readings within the ranges of the queries", func() bool {
		return ask(t, address, `min(count_over_time(hw_power_watts[20s]))`) >= 2 &&
			ask(t, address, `min(count_over_time(otelcol_exporter_sent_metric_points_total[20s]))`) >= 2
	})

	want := map[string]float64{
		"gpureceiver-fleet: GPUs":                gpus,
		"gpureceiver-fleet: Nodes with GPUs":     1,
		"gpureceiver-fleet: Unreadable sources":  0,
		"gpureceiver-fleet: Utilization":         tool.sum(t, "utilization.gpu") / 100 / gpus,
		"gpureceiver-fleet: Memory used":         100 * tool.sum(t, "memory.used") / tool.sum(t, "memory.total"),
		"gpureceiver-fleet: Power":               tool.sum(t, "power.draw.instant"),
		"gpureceiver-node: GPUs":                 gpus,
		"gpureceiver-node: Memory used":          tool.sum(t, "memory.used") * (1 << 20),
		"gpureceiver-health: Healthy":            gpus,
		"gpureceiver-collector: Collectors":      1,
		"gpureceiver-collector: Reads that fail": 0,
	}
	for _, panel := range everyQuery(t) {
		answer := func() map[string]float64 { return answered(t, address, selected(panel.expression, nil)) }
		needsMore := strings.Contains(panel.empty, "needs an agent") && !strings.Contains(panel.empty, "or kubernetes_exec") ||
			strings.Contains(panel.empty, "kubernetes_cluster") || strings.Contains(panel.empty, "pcie_sampling")
		switch reason := emptyFromOutside[panel.place]; {
		case strings.HasPrefix(panel.place, machineBoard+":"): // of a machine without Kubernetes
		case strings.HasPrefix(panel.place, slurmBoard+":"): // of nodes of Slurm
		case needsMore || reason != "":
			sameNumbers(t, panel.place+": "+reason, byLabels(nil), answer)
		default:
			someNumbers(t, panel.place+": "+panel.expression, answer)
		}
		if value, calculated := want[panel.place]; calculated {
			sameNumbers(t, panel.place, calculation{map[string]float64{"": value}, 1e-6}, answer)
			delete(want, panel.place)
		}
	}
	assert.Empty(t, want, "no panel")
}
