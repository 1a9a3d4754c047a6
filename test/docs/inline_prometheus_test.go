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
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// series are the metrics and labels that Prometheus has.
type series struct {
	metrics map[string]bool
	labels  map[string]otlptest.Label
}

func prometheusClasses(t *testing.T) []class {
	t.Helper()
	known := knownSeries(t)
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
	}
}

// The queries in blocks have metrics, labels and values that exist.
func TestQueriesOfBlocks(t *testing.T) {
	t.Parallel()
	known, checked := knownSeries(t), 0
	for _, b := range blocks(t) {
		if b.language != "promql" {
			continue
		}
		for query := range strings.SplitSeq(strings.TrimSpace(b.text), "\n\n") {
			checked++
			if err := known.query(query); err != nil {
				assert.Fail(t, err.Error(), "%s:%d: %s", b.page, b.line, query)
			}
		}
	}
	assert.Greater(t, checked, 10)
}

func knownSeries(t *testing.T) series {
	t.Helper()
	d := declared(t)
	metrics, _ := d.PrometheusMetrics()
	maps.Copy(metrics, recorded(t))
	return series{metrics, d.PrometheusLabels()}
}

var (
	prometheusName = regexp.MustCompile(`^(hw|container_gpu|process_gpu|k8s|process|container|slurm_job)_[a-z0-9_]+$`)
	inQuery        = regexp.MustCompile(`\b(hw|container_gpu|process_gpu|k8s_[a-z]+_gpu)_[a-z_]+`)
	enumerated     = regexp.MustCompile(`^(hw|error|network|process_gpu)_`) // other labels have names
	word           = regexp.MustCompile(`^[a-z_]+$`)                        // not an identifier
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
			errs = append(errs, s.label(name))
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
		return s.label(m.Name)
	case m.Type == labels.MatchEqual && enumerated.MatchString(m.Name) && word.MatchString(m.Value) && !label.CanBe(m.Value):
		return fmt.Errorf("%s is never %s", m.Name, m.Value)
	}
	return nil
}

// label accepts a label, also the label of a Kubernetes label or annotation.
func (s series) label(name string) error {
	if _, ok := s.labels[name]; !ok && !strings.Contains(name, "_label_") && !strings.Contains(name, "_annotation_") {
		return fmt.Errorf("no label %s", name)
	}
	return nil
}

// recorded returns the names of the recording rules.
func recorded(t *testing.T) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "deploy", "prometheus", "recording.rules.yaml"))
	require.NoError(t, err)
	got := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)- record: (\S+)$`).FindAllSubmatch(content, -1) {
		got[string(m[1])] = true
	}
	require.NotEmpty(t, got)
	return got
}
