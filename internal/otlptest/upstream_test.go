// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// extensions returns the metrics that metadata.yaml declares and the conventions do not have, with their kind, value type and unit.
func (d *Declared) extensions(c *conventions) map[string]string {
	metrics := map[string]string{}
	for name, m := range d.Metrics {
		if _, ok := c.Metrics[name]; !ok {
			metrics[name] = m.kind() + ", " + m.valueType() + ", " + m.Unit
		}
	}
	return metrics
}

var proposedMetric = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (gauge|counter|updowncounter), (int|double) \\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\|$")

// docs/upstream.md proposes each metric that the conventions do not have, with its type, and nothing else.
func TestProposalsAreComplete(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "upstream.md"))
	require.NoError(t, err)
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	metrics := map[string]string{}
	for _, row := range proposedMetric.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, metrics, row[1])
		metrics[row[1]] = row[2] + ", " + row[3] + ", " + row[4]
	}
	assert.Equal(t, declared.extensions(readConventions(t)), metrics)
}
