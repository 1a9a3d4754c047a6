// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// ownMetricClasses look in the telemetry of the components' metadata.yaml.
func ownMetricClasses(t *testing.T) []class {
	t.Helper()
	own := ownMetrics(t)
	return []class{
		{
			name: "metric of the collector itself",
			is:   func(s span) bool { return strings.HasPrefix(s.text, "otelcol_gpu_") },
			check: func(s span) error {
				if !slices.ContainsFunc(own, func(name string) bool { return ownName(s.text, name) }) {
					return errNotDeclared
				}
				return nil
			},
			good: "otelcol_gpu_read_age_seconds", bad: "otelcol_gpu_read_ages",
		},
	}
}

// ownMetrics returns the names of the metrics of the collector itself, without what their units add.
func ownMetrics(t *testing.T) []string {
	t.Helper()
	var result []string
	for _, directory := range []string{"", "exporter", "exporter/kubernetes"} {
		content, err := os.ReadFile(filepath.Join(repository(t), directory, "metadata.yaml"))
		require.NoError(t, err)
		var document struct {
			Telemetry struct {
				Metrics map[string]any `json:"metrics"`
			} `json:"telemetry"`
		}
		require.NoError(t, yaml.Unmarshal(content, &document))
		for name := range document.Telemetry.Metrics {
			result = append(result, "otelcol_"+name)
		}
	}
	return result
}

// ownName reports whether a text is a name, a name with what Prometheus adds for its unit and kind, or the beginning of one before a *.
func ownName(text, name string) bool {
	begin, open := strings.CutSuffix(text, "*")
	return open && strings.HasPrefix(name, begin) || regexp.MustCompile(`^`+name+`(_seconds|_ratio|_total|_seconds_bucket|_seconds_count|_seconds_sum)?$`).MatchString(text)
}
