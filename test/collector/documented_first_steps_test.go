// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alertedGPU is the GPU in the first steps of docs/operate/alerts.md.
const alertedGPU = "GPU-11111111-2222-3333-4444-555555555555"

// firstSteps are the queries of the first steps, in order: the GPU of workloadScenario that each is about, and the answer by a label.
var firstSteps = []struct {
	gpu    int
	label  string
	values map[string]float64
}{
	{0, "hw_id", map[string]float64{gpu(0): 1}},
	{0, "k8s_pod_name", map[string]float64{training.pod: 40 << 30}},
	{5, "k8s_pod_name", map[string]float64{sliced.pod: 4 << 30}}, // on a MIG instance
}

// assertFirstSteps asks Prometheus the queries of the first steps. They find a GPU and the pods that use it.
func assertFirstSteps(t *testing.T, address string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## First steps\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	queries := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, queries, len(firstSteps))
	for i, step := range firstSteps {
		require.Contains(t, queries[i][1], alertedGPU)
		agree(t, queries[i][1], func() (want, got map[string]float64) {
			return step.values, answers(t, address, strings.ReplaceAll(queries[i][1], alertedGPU, gpu(step.gpu)), step.label)
		})
	}
}
