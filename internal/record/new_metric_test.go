// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// These tests refuse a metric that lacks one of the edits that docs/develop/add-a-metric.md lists for a new metric.

// isClusterMetric reports whether ClusterRecorder records the metric.
func isClusterMetric(name string) bool { return strings.HasPrefix(name, "k8s.") }

// unread are the metrics for which no source reads anything: identity, presence and allocations are always known.
var unread = []string{"hw.gpu.allocated", "hw.gpu.board.info", "hw.gpu.count", "hw.gpu.info", "hw.gpu.source.failure", "hw.gpu.source.readable"}

// nodeLevel are the metrics that have no line in a table: recordPresence and sourceState record them.
var nodeLevel = []string{"hw.gpu.count", "hw.gpu.source.failure", "hw.gpu.source.readable"}

func TestEachMetricHasAllEdits(t *testing.T) {
	tests := map[string]metricTest{}
	for _, m := range metricTests {
		tests[m.name] = m
		assert.Contains(t, metricNames(), m.name, "metricTests has a metric that metadata.yaml does not declare")
	}
	documented := documentedMetrics(t)
	for _, name := range metricNames() {
		t.Run(name, func(t *testing.T) {
			assert.True(t, documented(name), "docs/reference/metrics.md has no row for it")
			if isClusterMetric(name) {
				return
			}
			lines, needs := enabledLines(t, name)
			assert.Equal(t, 1, lines, "one line of a table in internal/record is enabled by it")
			assert.NotEqual(t, slices.Contains(unread, name), needs, "its line says which group of internal/gpu a source reads for it")
			cfg := everything()
			enable(&cfg.Metrics, false)
			enableOne(t, &cfg.Metrics, name, true)
			points := otlptest.Points(newRecorder(cfg).Record(fullNode()))
			assert.Equal(t, []string{name}, otlptest.Names(points), "its line records it, from a value in fullNode")
			_, ok := tests[name]
			require.True(t, ok, "metricTests has no line for it")
			assert.NotEmpty(t, tests[name].samples, "metricTests has no value for it")
		})
	}
}

// enabledLines returns the number of lines in the tables that the metric alone enables, and whether sources read anything for them.
func enabledLines(t *testing.T, name string) (lines int, reads bool) {
	t.Helper()
	if slices.Contains(nodeLevel, name) {
		return 1, false
	}
	m, _ := only(t, name, "")
	devices, processes, containers := deviceMetrics(m), processMetrics(m), containerMetrics(m)
	lines = len(enabled(devices)) + len(enabled(processes)) + len(enabled(containers))
	return lines, needs(deviceMetrics(m))|needs(processMetrics(m))|needs(containerMetrics(m)) != 0
}

// documentedMetrics parses the first column of the tables in docs/reference/metrics.md that start with the heading "metric". A name there
// may start with the part of the name before it that differs (.limit) and may end with a star. It returns a function that reports whether a
// metric has a row.
func documentedMetrics(t *testing.T) func(string) bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	require.NoError(t, err)
	var patterns []string
	for _, table := range regexp.MustCompile(`(?m)^\| metric \|.*\n((?:\|.*\n)*)`).FindAllStringSubmatch(string(content), -1) {
		for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(table[1], -1) {
			patterns = append(patterns, patternsOf(row[1])...)
		}
	}
	matches := func(pattern, name string) bool {
		prefix, star := strings.CutSuffix(pattern, "*")
		return name == pattern || star && strings.HasPrefix(name, prefix)
	}
	attributes := resourceAttributeNames()
	for _, pattern := range patterns {
		exists := slices.ContainsFunc(append(metricNames(), attributes...), func(name string) bool { return matches(pattern, name) })
		assert.True(t, exists, "docs/reference/metrics.md has %s, which metadata.yaml does not declare", pattern)
	}
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
	}
}

// patternsOf returns the names in a cell: "hw.gpu.memory.usage, .limit" are two. Words without a dot explain the names.
func patternsOf(cell string) []string {
	var patterns []string
	for _, word := range regexp.MustCompile(`[a-z0-9_]*\.[a-z0-9_.]*[a-z0-9_*]`).FindAllString(cell, -1) {
		if strings.HasPrefix(word, ".") && len(patterns) > 0 {
			parts := strings.Split(patterns[len(patterns)-1], ".")
			word = strings.Join(parts[:len(parts)-strings.Count(word, ".")], ".") + word
		}
		patterns = append(patterns, word)
	}
	return patterns
}

func TestPatternsOf(t *testing.T) {
	assert.Equal(t, []string{"hw.gpu.memory.usage", "hw.gpu.memory.limit"}, patternsOf("hw.gpu.memory.usage, .limit"))
	assert.Equal(t, []string{"a.rows.remapped", "a.remap.state"}, patternsOf("a.rows.remapped, .remap.state (off)"))
	assert.Equal(t, []string{"hw.gpu.pcie.*"}, patternsOf("hw.gpu.pcie.*"))
	assert.Equal(t, []string{"hw.errors"}, patternsOf("hw.errors corrected, uncorrected (of memory)"))
	assert.Empty(t, patternsOf("metric"))
}

// resourceAttributeNames returns the names of all resource attributes: docs/reference/metrics.md has rows for some.
func resourceAttributeNames() []string {
	var names []string
	for field := range fields(reflect.ValueOf(metadata.DefaultResourceAttributesConfig())) {
		names = append(names, field.Tag.Get("mapstructure"))
	}
	return names
}
