// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
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

var (
	code     = regexp.MustCompile("`([^`]+)`")
	quoted   = regexp.MustCompile(`"[^"]*"`)
	ours     = regexp.MustCompile(`\b(?:hw|process|container|k8s)_[a-z0-9_]+`)
	selected = regexp.MustCompile(`([a-z0-9_]+)="([^"]+)"`)
)

// migrationPages are the pages of docs/compare that have queries, and the least number of queries on each.
var migrationPages = map[string]int{"dcgm-exporter.md": 80, "nvidia-gpu-exporter.md": 100, "amd-exporter.md": 50}

// migrationQueries returns the queries of the migration pages.
func migrationQueries(t *testing.T) (queries []string) {
	t.Helper()
	for _, page := range slices.Sorted(maps.Keys(migrationPages)) {
		got := pageQueries(t, page)
		assert.GreaterOrEqual(t, len(got), migrationPages[page], page)
		queries = append(queries, got...)
	}
	return queries
}

// pageQueries returns the queries of a page: the code in the second column of its tables, and its blocks.
func pageQueries(t *testing.T, page string) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "compare", page))
	require.NoError(t, err)
	inTable := false
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			inTable = inTable && strings.HasPrefix(line, "|---")
			continue
		}
		cells := strings.Split(line, " | ")
		for _, cell := range cells {
			assert.Less(t, len(strings.Fields(code.ReplaceAllString(cell, "query"))), 20, "too long for a table: %s", line)
		}
		switch {
		case cells[1] == "query":
			inTable = true
		case inTable:
			match := code.FindStringSubmatch(cells[1])
			assert.Equal(t, match == nil, cells[1] == "none", line)
			if match != nil {
				queries = append(queries, match[1])
			}
		}
	}
	blocks := strings.Split(string(text), "```promql\n")
	for _, block := range blocks[1:] {
		query, _, _ := strings.Cut(block, "```")
		queries = append(queries, query)
	}
	return queries
}

// The queries of the migration pages name metrics, labels and values that are declared.
func TestMigrationQueriesNameWhatIsDeclared(t *testing.T) {
	declared, err := otlptest.ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	metrics, _ := declared.PrometheusMetrics()
	labels := declared.PrometheusLabels()
	for _, query := range migrationQueries(t) {
		named := 0
		for _, name := range ours.FindAllString(quoted.ReplaceAllString(query, `""`), -1) {
			_, isLabel := labels[name]
			if metrics[name] {
				named++
			}
			assert.True(t, metrics[name] || isLabel, "%s: %s is neither a metric nor a label", query, name)
		}
		assert.Positive(t, named, "%s names no metric", query)
		for _, ok := range selected.FindAllStringSubmatch(query, -1) {
			label, value := ok[1], ok[2]
			if value != "0" { // the number of a link
				assert.True(t, labels[label].CanBe(value), "%s: %s cannot be %s", query, label, value)
			}
		}
	}
}

// The queries of the migration pages are PromQL.
func TestMigrationQueriesAreValid(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not in PATH; on Debian: apt-get install --no-install-recommends prometheus")
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for i, query := range migrationQueries(t) {
		rules = append(rules, rule{fmt.Sprintf("migration:query_%d", i), query})
	}
	file, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "migration", "rules": rules}}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rules.yaml") // JSON is YAML
	require.NoError(t, os.WriteFile(path, file, 0o600))
	output, err := exec.CommandContext(t.Context(), promtool, "check", "rules", path).CombinedOutput()
	require.NoError(t, err, string(output))
	assert.Contains(t, string(output), fmt.Sprintf("%d rules found", len(rules)))
}
