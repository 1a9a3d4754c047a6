// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

var dcgmNames = filepath.Join("overlays", "dcgm-names.yaml")

func TestDCGMNamesAreValid(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"agent.yaml", "agent-prometheus.yaml", "agent-kubernetes.yaml"} {
		code, output := run(t, "validate", harness.FeatureGates, "--config", filepath.Join(root(t), "config", config), "--config", filepath.Join(root(t), "config", dcgmNames))
		assert.Zero(t, code, output)
	}
}

// dcgmScenario adds values of all GPUs to the values of workloadScenario. All are constant, so that both metrics endpoints have the same
// values.
const dcgmScenario = `
[gpu *]
energy = 5000
clock.sm = 1410
clock.memory = 2619
util.memory = 12
util.encoder = 5
util.decoder = 7
temperature.memory = 61
gpm.graphics = 40
gpm.tensor = 25
gpm.dram = 30
pcie.replay = 3
pcie.tx = PCIE
pcie.rx = PCIE
remapped.corrected = 1
remapped.uncorrected = 2
ecc.volatile.corrected = 4
ecc.volatile.uncorrected = 5
[event xid]
gpu = 0
xid = 31
`

// dcgmNode returns a node whose collector has a second metrics endpoint, with dcgm-exporter's names, and a Prometheus that scrapes both endpoints.
func dcgmNode(t *testing.T) (n *workloadNode, prometheus string) {
	t.Helper()
	tool(t, "prometheus")
	n = prepareWorkloads(t)
	endpoint := freeAddress(t)
	n.start(shipped{
		configs: []string{"agent-kubernetes.yaml", dcgmNames},
		more:    "receivers: {gpu: {scrapers: {nvml: {pcie_sampling: true}}}}\n",
		env:     []string{"DCGM_PORT=" + endpoint[strings.LastIndex(endpoint, ":")+1:], "DCGM_EXPIRATION=15s"},
	})
	n.next("attributed workloads", attributed)
	n.set(strings.ReplaceAll(dcgmScenario, "PCIE", "1e6"))
	t.Cleanup(func() {
		assert.NotContains(t, n.process.Output(), "failed to e", "a statement failed to execute or to evaluate")
	})
	return n, scrapingPrometheus(t, "", n.page, "http://"+endpoint+"/metrics")
}

// dashboard12239 has, by panel, the queries of NVIDIA's dashboard for dcgm-exporter on grafana.com, and their answers by the number of the
// GPU, calculated by hand from the scenarios. GPU 5 is divided, and its driver has no utilization.
var dashboard12239 = map[string]struct {
	query   string
	answers map[string]float64
}{
	"GPU Temperature": {`DCGM_FI_DEV_GPU_TEMP{instance=~"$instance", gpu=~"$gpu"}`, eight(70, 40, 40, 40, 40, 40, 40, 40)},
	"GPU Avg. Temp":   {`avg(DCGM_FI_DEV_GPU_TEMP{instance=~"$instance", gpu=~"$gpu"})`, map[string]float64{"": (70 + 7*40) / 8.0}},
	"GPU Power Usage": {`DCGM_FI_DEV_POWER_USAGE{instance=~"$instance", gpu=~"$gpu"}`, eight(600, 70, 300, 70, 400, 200, 150, 70)},
	"GPU Power Total": {`sum(DCGM_FI_DEV_POWER_USAGE{instance=~"$instance", gpu=~"$gpu"})`, map[string]float64{"": 1860}},
	"GPU SM Clocks": {
		`DCGM_FI_DEV_SM_CLOCK{instance=~"$instance", gpu=~"$gpu"} * 1000000`,
		eight(1.41e9, 1.41e9, 1.41e9, 1.41e9, 1.41e9, 1.41e9, 1.41e9, 1.41e9),
	},
	"GPU Utilization": {`DCGM_FI_DEV_GPU_UTIL{instance=~"$instance", gpu=~"$gpu"}`, eight(90, 0, 50, 0, 60, math.NaN(), 20, 0)},
	"GPU Framebuffer Mem Used": {
		`DCGM_FI_DEV_FB_USED{instance=~"$instance", gpu=~"$gpu"}`,
		eight(40<<10, 0, 10<<10, 0, 24<<10, 4<<10, 2<<10, 0), // MiB
	},
	"Tensor Core Utilization": {
		`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{instance=~"$instance", gpu=~"$gpu"}`,
		eight(0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25),
	},
}

// eight returns the values of the eight GPUs. A GPU with NaN has no value.
func eight(values ...float64) map[string]float64 {
	got := map[string]float64{}
	for i, value := range values {
		if !math.IsNaN(value) {
			got[strconv.Itoa(i)] = value
		}
	}
	return got
}

// NVIDIA's dashboard shows the correct numbers with the endpoint that has dcgm-exporter's names, and the pods that hold GPUs.
func TestDCGMDashboard(t *testing.T) {
	t.Parallel()
	n, prometheus := dcgmNode(t)
	variables := strings.NewReplacer("$instance", ".+", "$gpu", "(0|1|2|3|4|5|6|7)")
	for panel, want := range dashboard12239 {
		agree(t, panel, func() (expected, got map[string]float64) {
			return want.answers, answers(t, prometheus, variables.Replace(want.query), "gpu")
		})
	}

	var labels []map[string]string
	eventually(t, patience, "one series of GPU 0", func() bool {
		labels = labelsOf(t, prometheus, `DCGM_FI_DEV_GPU_TEMP{gpu="0"}`)
		return len(labels) == 1
	})
	delete(labels[0], "job")
	delete(labels[0], "instance")
	assert.Equal(t, map[string]string{
		"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "0", "UUID": gpu(0), "device": "nvidia0", "modelName": "NVIDIA H100 80GB HBM3", "Hostname": "node-a",
		"pci_bus_id": "00000000:0A:00.0", "DCGM_FI_DRIVER_VERSION": "580.95.05",
		"namespace": "ml", "pod": training.pod, "container": training.container,
	}, labels[0])
	// The two servers share a GPU, the stowaway holds none, and the holder of a MIG instance is not a holder of the GPU.
	agree(t, "the GPUs' pods", func() (want, got map[string]float64) {
		return map[string]float64{training.pod: 70, notebook.pod: 40}, answers(t, prometheus, `DCGM_FI_DEV_GPU_TEMP{pod!=""}`, "pod")
	})

	n.kubelet.Set()
	eventually(t, patience, "GPUs without a pod, each once", func() bool {
		return ask(t, prometheus, `count(DCGM_FI_DEV_GPU_TEMP{pod=""})`) == 8 && ask(t, prometheus, `count(DCGM_FI_DEV_GPU_TEMP)`) == 8
	})
}

// The queries of docs/compare/dcgm-exporter.md give the numbers of the endpoint that has dcgm-exporter's names, and the table has exactly the names
// of that endpoint.
func TestDCGMNamesAgreeWithQueries(t *testing.T) {
	t.Parallel()
	n, prometheus := dcgmNode(t)
	documented := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "compare", "dcgm-exporter.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); len(cells) == 4 && cells[2] == "yes" {
			documented[strings.TrimPrefix(cells[0], "| ")] = strings.Trim(cells[1], "`")
		}
	}
	delete(documented, "DCGM_FI_DRIVER_VERSION") // a label

	eventually(t, patience, "traffic", func() bool { return ask(t, prometheus, `min(DCGM_FI_PROF_PCIE_TX_BYTES_TOTAL)`) > 0 })
	n.set(strings.ReplaceAll(dcgmScenario, "PCIE", "0"))
	var names map[string]float64
	eventually(t, patience, "names", func() bool {
		names = answers(t, prometheus, `count by (__name__) ({__name__=~"DCGM_.+"})`, "__name__")
		return len(names) >= len(documented)
	})
	for field, query := range documented {
		assert.Contains(t, names, field, "documented, but the endpoint does not have it")
		delete(names, field)
		agree(t, field+": "+query, func() (ours, theirs map[string]float64) {
			return byGPU(t, prometheus, query, "hw_id", "hw_gpu_xid"), byGPU(t, prometheus, field, "UUID", "xid")
		})
	}
	assert.Empty(t, names, "not documented, but the endpoint has them")
}

// agree waits until two results are the same and not empty, and otherwise shows how they differ.
func agree(t *testing.T, subject string, results func() (want, got map[string]float64)) {
	t.Helper()
	for startedAt := time.Now(); ; time.Sleep(tick) {
		want, got := results()
		if len(got) > 0 && assert.ObjectsAreEqual(want, got) {
			return
		}
		if time.Since(startedAt) > patience {
			assert.NotEmpty(t, got, subject)
			assert.Equal(t, want, got, subject)
			return
		}
	}
}

// byGPU returns the values of whole GPUs by two labels, with six digits.
func byGPU(t *testing.T, prometheus, query, id, code string) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, s := range vector(t, prometheus, query) {
		if s.labels["hw_parent"] == "" {
			value, err := strconv.ParseFloat(fmt.Sprintf("%.6g", s.value), 64)
			require.NoError(t, err)
			got[s.labels[id]+" "+s.labels[code]] = value
		}
	}
	return got
}
