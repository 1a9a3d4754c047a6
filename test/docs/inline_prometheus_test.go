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

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// series are the metrics and labels that Prometheus has.
type series struct {
	metrics map[string]bool
	labels  map[string]otlptest.Label
}

func prometheusClasses(t *testing.T) []class {
	t.Helper()
	d := declared(t)
	metrics, _ := d.PrometheusMetrics()
	maps.Copy(metrics, recorded(t))
	known := series{metrics, d.PrometheusLabels()}
	own := ownMetrics(t)
	return []class{
		{
			name:  "name in Prometheus",
			is:    func(s span) bool { return prometheusName.MatchString(s.text) },
			check: func(s span) error { return known.name(s.text) },
			good:  "hw_gpu_memory_usage_bytes", bad: "hw_gpu_memory_usage",
		},
		{
			name: "query",
			is: func(s span) bool {
				return strings.ContainsAny(s.text, "{([ ") && inQuery.MatchString(s.text) && !strings.HasPrefix(s.text, "--") && !programs.MatchString(s.text)
			},
			check: func(s span) error { return known.query(s.text) },
			good:  `sum by (hw_id) (rate(hw_gpu_xids_total{hw_gpu_xid="79"}[5m]))`, bad: `hw_gpu_fault{error_type="loss"}`,
		},
		{
			name:  "label with a value",
			is:    func(s span) bool { return matcher.MatchString(s.text) },
			check: func(s span) error { return known.query(`{__name__=~".+", ` + s.text + "}") },
			good:  `error_type="unreachable"`, bad: `error_type="unreached"`,
		},
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

var (
	prometheusName = regexp.MustCompile(`^(hw|container_gpu|process_gpu|k8s|process|container|slurm_job)_[a-z0-9_]+$`)
	inQuery        = regexp.MustCompile(`\b(hw|container_gpu|process_gpu|k8s_[a-z]+_gpu)_[a-z_]+`)
	isNumber       = regexp.MustCompile(`^\d+$`)
	matcher        = regexp.MustCompile(`^([a-z_]+)=~?"[^"]*"$`)
)

// name takes a metric, a label and a value of a label.
func (s series) name(text string) error {
	if _, ok := s.labels[text]; ok || s.metrics[text] {
		return nil
	}
	for _, label := range s.labels {
		if label.CanBe(text) {
			return nil
		}
	}
	return errNotDeclared
}

// query parses a query and looks up its metrics, its labels and their values.
func (s series) query(text string) error {
	query, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return err
	}
	var errs []error
	byLabels := func(names []string) {
		for _, name := range names {
			if _, ok := s.labels[name]; !ok {
				errs = append(errs, fmt.Errorf("no label %s", name))
			}
		}
	}
	parser.Inspect(query, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			for _, m := range n.LabelMatchers {
				errs = append(errs, s.matcher(m))
			}
		case *parser.AggregateExpr:
			byLabels(n.Grouping)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				byLabels(n.VectorMatching.MatchingLabels)
				byLabels(n.VectorMatching.Include)
			}
		}
		return nil
	})
	return errors.Join(errs...)
}

func (s series) matcher(m *labels.Matcher) error {
	if m.Name == "__name__" {
		if m.Type == labels.MatchEqual && !s.metrics[m.Value] {
			return fmt.Errorf("no metric %s", m.Value)
		}
		return nil
	}
	label, ok := s.labels[m.Name]
	switch {
	case !ok:
		return fmt.Errorf("no label %s", m.Name)
	case m.Type == labels.MatchEqual && m.Value != "" && !label.CanBe(m.Value) && !isNumber.MatchString(m.Value):
		return fmt.Errorf("%s is never %s", m.Name, m.Value)
	}
	return nil
}

// recorded returns the names of the recording rules.
func recorded(t *testing.T) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "deploy", "prometheus", "recording.rules.yaml"))
	require.NoError(t, err)
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)- record: (\S+)$`).FindAllSubmatch(content, -1) {
		found[string(m[1])] = true
	}
	require.NotEmpty(t, found)
	return found
}

// ownMetrics returns the names of the metrics of the collector itself, without what their units add.
func ownMetrics(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"", "exporter", "exporter/kubernetes"} {
		content, err := os.ReadFile(filepath.Join(repository(t), folder, "metadata.yaml"))
		require.NoError(t, err)
		var of struct {
			Telemetry struct {
				Metrics map[string]any `json:"metrics"`
			} `json:"telemetry"`
		}
		require.NoError(t, yaml.Unmarshal(content, &of))
		for name := range of.Telemetry.Metrics {
			found = append(found, "otelcol_"+name)
		}
	}
	return found
}

// ownName reports whether a text is a name, a name with what Prometheus adds for its unit and kind, or the beginning of one before a *.
func ownName(text, name string) bool {
	begin, open := strings.CutSuffix(text, "*")
	return open && strings.HasPrefix(name, begin) || regexp.MustCompile(`^`+name+`(_seconds|_ratio|_total|_seconds_bucket|_seconds_count|_seconds_sum)?$`).MatchString(text)
}
