// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// The points of every golden file of the repository stay apart without resources, of one node and of two; metadata.yaml declares them,
// and they violate no invariant.
func TestGoldenFiles(t *testing.T) {
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	files := goldenFiles(t, filepath.Join("..", ".."))
	require.NotEmpty(t, files, "there must be golden files")
	for _, file := range files {
		t.Run(filepath.ToSlash(strings.TrimPrefix(file, "../../")), func(t *testing.T) {
			metrics, err := golden.ReadMetrics(file)
			require.NoError(t, err)
			require.Positive(t, metrics.DataPointCount())
			assert.Empty(t, Collisions(metrics))
			assert.Empty(t, Collisions(TwoNodes(metrics)), "together with another node")
			assert.Empty(t, declared.Violations(metrics))
			assert.Empty(t, PrometheusViolations(metrics))
			assert.Empty(t, PrometheusViolations(TwoNodes(metrics)), "together with another node")
			assert.Empty(t, (&Sequence{}).Add(metrics))
			assert.Empty(t, (&Resources{}).Add(metrics))
			if filepath.Base(file) != "full_node.yaml" { // its values are all different
				assert.Empty(t, Violations(metrics))
			}
		})
	}
}

// goldenFiles returns the files of metrics in all directories called testdata.
func goldenFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".yaml" || !strings.Contains(filepath.ToSlash(path), "/testdata/"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(content, []byte("resourceMetrics:")) {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
}

func TestCollisions(t *testing.T) {
	node := pmetric.NewMetrics()
	add := func(resource, metric string, attributes map[string]any) {
		rm := node.ResourceMetrics().AppendEmpty()
		rm.Resource().Attributes().PutStr("process.pid", resource)
		m := rm.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(metric)
		require.NoError(t, m.SetEmptyGauge().DataPoints().AppendEmpty().Attributes().FromRaw(attributes))
	}
	add("1", "m", map[string]any{"hw.id": "a", "n": 1})
	add("1", "m", map[string]any{"hw.id": "a", "n": 2})
	add("1", "other", map[string]any{"hw.id": "a", "n": 1})
	assert.Empty(t, Collisions(node), "different values and different metrics")
	assert.Empty(t, Collisions(TwoNodes(node)), "different GPUs")

	add("2", "m", map[string]any{"n": 1, "hw.id": "a"})
	assert.Equal(t, []string{"2 points of m{hw.id=a,n=1}"}, Collisions(node), "only the resource distinguishes them")

	alone := pmetric.NewMetrics()
	m := alone.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName("count")
	m.SetEmptySum().DataPoints().AppendEmpty().Attributes().PutStr("hw.vendor", "AMD")
	assert.Empty(t, Collisions(alone))
	assert.Equal(t, []string{"2 points of count{hw.vendor=AMD}"}, Collisions(TwoNodes(alone)), "the node is not named on the point")
}
