// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

var documentedPoints = regexp.MustCompile(`: (\d+) points in (\d+) resources`)

// A read of the node of docs/operate/performance.md has as many points and resources as stated there.
func TestDocumentedPoints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "performance.md"))
	require.NoError(t, err)
	documented := documentedPoints.FindStringSubmatch(string(text))
	require.NotNil(t, documented)
	points, err := strconv.Atoi(documented[1])
	require.NoError(t, err)
	resources, err := strconv.Atoi(documented[2])
	require.NoError(t, err)
	file, err := nvmlsim.ScenarioFile("steady8x64")
	require.NoError(t, err)
	scenario, err := os.ReadFile(file)
	require.NoError(t, err)

	n := start(t, spec{scenario: string(scenario)})
	n.next("eight GPUs", full(8))
	eventually(t, patience, documented[0], func() bool { // some take two reads, such as means since the last one
		last := n.sink.Last()
		return last.DataPointCount() == points && last.ResourceMetrics().Len() == resources
	})
}
