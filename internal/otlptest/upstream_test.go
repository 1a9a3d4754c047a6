// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// extensions returns what metadata.yaml declares and the conventions do not have: metrics with their kind, value type and unit, attributes with
// their type, and events.
func (d *Declared) extensions(c *conventions) (metrics, attributes, events map[string]string) {
	metrics, attributes, events = map[string]string{}, map[string]string{}, map[string]string{}
	for name, m := range d.Metrics {
		if _, ok := c.Metrics[name]; !ok {
			metrics[name] = m.kind() + ", " + m.valueType() + ", " + m.Unit
		}
	}
	for _, all := range []map[string]attribute{d.Attributes, d.ResourceAttributes} {
		for name, a := range all {
			if _, ok := c.Attributes[name]; !ok {
				attributes[name] = a.Type
			}
		}
	}
	for name := range maps.Keys(d.Events) {
		events[name] = ""
	}
	return metrics, attributes, events
}

var (
	proposedMetric    = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (gauge|counter|updowncounter), (int|double) \\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\|$")
	proposedAttribute = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (string|int|double|bool|slice) \\| [^|]*\\| [^|]+ \\|$")
	proposedEvent     = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\|$")
)

// docs/upstream.md proposes each metric, attribute and event that the conventions do not have, with its type, and nothing else.
func TestProposalsAreComplete(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "upstream.md"))
	require.NoError(t, err)
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	metrics, attributes, events := map[string]string{}, map[string]string{}, map[string]string{}
	for _, row := range proposedMetric.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, metrics, row[1])
		metrics[row[1]] = row[2] + ", " + row[3] + ", " + row[4]
	}
	for _, row := range proposedAttribute.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, attributes, row[1])
		attributes[row[1]] = row[2]
	}
	for _, row := range proposedEvent.FindAllStringSubmatch(string(page), -1) {
		assert.NotContains(t, events, row[1])
		events[row[1]] = ""
	}
	wantMetrics, wantAttributes, wantEvents := declared.extensions(readConventions(t))
	assert.Equal(t, wantMetrics, metrics)
	assert.Equal(t, wantAttributes, attributes)
	assert.Equal(t, wantEvents, events)
}
