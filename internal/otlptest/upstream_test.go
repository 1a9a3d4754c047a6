// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// extensions returns the metrics that metadata.yaml declares and the conventions do not have.
func (d *Declared) extensions(c *conventions) (metrics []string) {
	for name := range d.Metrics {
		if _, ok := c.Metrics[name]; !ok {
			metrics = append(metrics, name)
		}
	}
	return metrics
}

var proposedMetric = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\|[^|]+\\|$")

// docs/upstream.md proposes each metric that the conventions do not have, once, and nothing else.
func TestProposalsAreComplete(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "upstream.md"))
	require.NoError(t, err)
	_, tables, found := strings.Cut(string(page), "\n### Metrics\n")
	require.True(t, found)
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	var metrics []string
	for _, row := range proposedMetric.FindAllStringSubmatch(tables, -1) {
		metrics = append(metrics, row[1])
	}
	assert.ElementsMatch(t, declared.extensions(readConventions(t)), metrics)
}
