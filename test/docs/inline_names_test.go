// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

func declared(t *testing.T) *otlptest.Declared {
	t.Helper()
	d, err := otlptest.ReadDeclared(filepath.Join(repository(t), "metadata.yaml"))
	require.NoError(t, err)
	return d
}

// nameClasses look in metadata.yaml.
func nameClasses(t *testing.T) []class {
	t.Helper()
	d := declared(t)
	labels := d.PrometheusLabels()
	metrics := slices.Collect(maps.Keys(d.Metrics))
	names := slices.Concat(metrics, slices.Collect(maps.Keys(d.Attributes)),
		slices.Collect(maps.Keys(d.ResourceAttributes)), slices.Collect(maps.Keys(d.Events)), historyColumns(t, metrics))
	keyed := keyedNames(t)
	check := func(s span) error {
		var errs []error
		for _, m := range name.FindAllStringSubmatch(s.text, -1) {
			if !isDeclared(names, keyed, m[1]) {
				errs = append(errs, fmt.Errorf("%s: %w", m[1], errNotDeclared))
			}
		}
		if m := nameAndValue.FindStringSubmatch(s.text); m != nil {
			if label, ok := labels[strings.ReplaceAll(m[1], ".", "_")]; ok && !label.CanBe(m[2]) && !isFreeText(d, m[1]) {
				errs = append(errs, fmt.Errorf("%s is never %s", m[1], m[2]))
			}
		}
		return errors.Join(errs...)
	}
	return []class{
		{
			name: "metric", check: check,
			is:   func(s span) bool { return isMetric(d, s.text) || strings.HasPrefix(s.text, "hw.gpu.") },
			good: "hw.gpu.fault{error.type=\"lost\"}", bad: "hw.gpu.memory.use",
		},
		{
			name: "attribute", check: check,
			is:   func(s span) bool { return name.FindString(s.text) != "" && !isMetric(d, s.text) },
			good: "k8s.pod.label.<key>", bad: "hw.state: failing",
		},
		{
			name: "event", check: check,
			is: func(s span) bool {
				return strings.HasPrefix(s.text, "k8s.pod.gpu.") || strings.HasPrefix(s.text, "k8s.workload.gpu.") || d.Events[s.text].Attributes != nil
			},
			good: "k8s.pod.gpu.evicted", bad: "k8s.pod.gpu.evict",
		},
	}
}

var (
	name         = regexp.MustCompile(`(?:^|[\s{,(])((?:hw|k8s|container|process|slurm|batch|systemd|host|network|error|log)\.[a-z_][a-z0-9_.]*(?:\.?\*|<key>)?)(?:$|[\s{},:=)])`)
	nameAndValue = regexp.MustCompile(`([a-z][a-z0-9_.]+)(?:=|: )"?([\w.]+)"?}?$`)
)

func isMetric(d *otlptest.Declared, text string) bool {
	metric, _, _ := strings.Cut(text, "{")
	_, ok := d.Metrics[metric]
	return ok
}

// isFreeText reports whether an attribute has no list of values.
func isFreeText(d *otlptest.Declared, attribute string) bool {
	a, ok := d.Attributes[attribute]
	return !ok || len(a.Enum) == 0 && !strings.Contains(a.Description, ":")
}

// isDeclared takes a name, and the beginning of some with * behind it.
func isDeclared(names, keyed []string, text string) bool {
	if begin, ok := strings.CutSuffix(text, "*"); ok {
		return slices.Contains(keyed, begin) || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, begin) })
	}
	return slices.Contains(names, text) || slices.ContainsFunc(keyed, func(begin string) bool { return strings.HasPrefix(text, begin) && text != begin })
}

// keyedNames returns the beginnings of attributes whose ends are labels or annotations.
func keyedNames(t *testing.T) []string {
	t.Helper()
	var result []string
	for _, text := range stringsOf(t, "internal", "receiver") {
		if strings.HasSuffix(text, ".label.") || strings.HasSuffix(text, ".annotation.") {
			result = append(result, text)
		}
	}
	require.NotEmpty(t, result)
	return result
}

// historyColumns returns the names that the history of the API has for a part of a metric: with a label at the end.
func historyColumns(t *testing.T, metrics []string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "internal", "view", "fleet", "history_columns.go"))
	require.NoError(t, err)
	var result []string
	for _, m := range regexp.MustCompile(`\{metadata\.MetricsInfo\.(\w+)\.Name \+ "(\.\w+)"`).FindAllStringSubmatch(string(content), -1) {
		i := slices.IndexFunc(metrics, func(name string) bool {
			return strings.EqualFold(m[1], strings.NewReplacer(".", "", "_", "").Replace(name))
		})
		require.GreaterOrEqual(t, i, 0, m[1])
		result = append(result, metrics[i]+m[2])
	}
	require.NotEmpty(t, result)
	return result
}
