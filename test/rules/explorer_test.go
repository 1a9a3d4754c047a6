// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// explored is what docs/reference/explorer.html shows of a metric, an event or an attribute. missing is when an event is missing.
type explored struct{ prometheus, query, missing string }

func readExplorer(t *testing.T) map[string]explored {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "explorer.html"))
	require.NoError(t, err)
	assert.Less(t, len(page), 600_000, "the page opens at once")
	found := map[string]explored{}
	within := func(text, expression string) string {
		m := regexp.MustCompile(expression).FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	for _, e := range regexp.MustCompile(`(?s)<details id="([^"]+)"(.*?)</details>`).FindAllStringSubmatch(string(page), -1) {
		found[e[1]] = explored{
			prometheus: within(e[2], `<dt>Prometheus</dt><dd><code>(.*?)</code>`),
			query:      within(e[2], `(?s)<pre class="query" tabindex="0"><code>(.*?)</code>`),
			missing:    within(e[2], `<dt>Missing when</dt><dd>(.*?) <a href="events.md#when-an-event-is-missing">`),
		}
	}
	return found
}

// Everything that metadata.yaml declares is on the page, under the names that the prometheus exporter gives it.
func TestExplorerIsComplete(t *testing.T) {
	declared, err := otlptest.ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	shown := readExplorer(t)
	names, _ := declared.PrometheusMetrics()
	for name := range declared.Metrics {
		assert.Contains(t, names, shown[name].prometheus, name)
		assert.Contains(t, shown[name].query, shown[name].prometheus, name)
	}
	for name := range declared.Events {
		assert.NotEmpty(t, shown["event-"+name].missing, "when %s is missing", name)
	}
	labels := declared.PrometheusLabels()
	attributes := maps.Clone(declared.Attributes)
	maps.Copy(attributes, declared.ResourceAttributes)
	for name := range attributes {
		assert.Contains(t, labels, shown["attribute-"+name].prometheus, name)
	}
	own := 0
	for name := range shown {
		if strings.HasPrefix(name, "otelcol_") {
			own++
		}
	}
	assert.Positive(t, own)
	assert.Len(t, shown, len(declared.Metrics)+len(declared.Events)+len(attributes)+own, "and nothing else is")
}

// Each query of the page has an answer, where Prometheus has a series of the metric with the declared attributes. So it asks for no label and
// for no value of a label that the metric cannot have.
func TestExplorerQueries(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not in PATH; on Debian: apt-get install --no-install-recommends prometheus")
	}
	declared, err := otlptest.ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	shown := readExplorer(t)
	var tests []any
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		e := shown[name]
		if e.query == "" {
			continue
		}
		values := "1+60x100" // a counter, and a gauge that is 1 at the beginning
		switch {
		case strings.HasSuffix(e.query, "== 0"):
			values = "0x100"
		case strings.HasSuffix(e.query, "== 1"):
			values = "1x100"
		}
		var series []any
		for _, labels := range labelsOf(declared, declared.Metrics[name].Attributes) {
			series = append(series, map[string]any{"series": e.prometheus + labels, "values": values})
		}
		tests = append(tests, map[string]any{
			"name":         name,
			"interval":     "1m",
			"input_series": series,
			"promql_expr_test": []any{map[string]any{
				"expr": "count(" + e.query + ") > bool 0", "eval_time": "90m", "exp_samples": []any{map[string]any{"labels": "{}", "value": 1}},
			}},
		})
	}
	require.Greater(t, len(tests), 100)
	content, err := json.Marshal(map[string]any{"evaluation_interval": "1m", "tests": tests})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "explorer.yaml") // JSON is YAML
	require.NoError(t, os.WriteFile(path, content, 0o600))
	output, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	require.NoError(t, err, string(output))
}

// labelsOf returns the labels of some series of a GPU: each has every attribute but hw.parent, and each value of an enumeration is in one of them.
func labelsOf(declared *otlptest.Declared, attributes []string) (series []string) {
	for i := range 32 {
		var labels []string
		for _, name := range attributes {
			if name == "hw.parent" {
				continue
			}
			value := "a"
			if enum := declared.Attributes[name].Enum; len(enum) > 0 {
				value = enum[i%len(enum)]
			}
			labels = append(labels, strings.ReplaceAll(name, ".", "_")+`="`+value+`"`)
		}
		series = append(series, "{"+strings.Join(labels, ",")+"}")
	}
	slices.Sort(series)
	return slices.Compact(series)
}
