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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/reference"
)

// overlayBase is the configuration that the examples of docs/reference are merged with: most of them are overlays.
const overlayBase = `
receivers: {gpu: }
exporters: {gpu_view: }
service:
  pipelines:
    metrics: {receivers: [gpu], exporters: [gpu_view]}
    logs: {receivers: [gpu], exporters: [gpu_view]}
`

// Every example of docs/reference is a configuration that the collector accepts.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	_ = binary(t)
	base := filepath.Join(t.TempDir(), "minimal.yaml")
	require.NoError(t, os.WriteFile(base, []byte(overlayBase), 0o600))
	for i, example := range reference.Read(t, root(t)).Examples {
		t.Run(example.Page+" "+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "example.yaml")
			require.NoError(t, os.WriteFile(file, []byte(example.Text), 0o600))
			code, output := run(t, "validate", "--config", base, "--config", file)
			assert.Zero(t, code, "%s\n%s", output, example.Text)
		})
	}
}

// The file that docs/operate/kubernetes.md adds to exec.yaml is one that the collector accepts.
func TestDocumentedOwnConfiguration(t *testing.T) {
	t.Parallel()
	_ = binary(t)
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "kubernetes.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(# mine\\.yaml\n.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	file := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(file, block[1], 0o600))
	code, output := run(t, "validate", harness.FeatureGates, "--config", filepath.Join(root(t), "config", "exec.yaml"), "--config", file)
	assert.Zero(t, code, output)
}
