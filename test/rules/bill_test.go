// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Each query of the dashboard of GPU hours has an answer on the series of bill.test.yaml.
func TestDashboardOfTheBill(t *testing.T) {
	promtool := promtool(t)
	content, err := os.ReadFile("bill.test.yaml")
	require.NoError(t, err)
	var file struct {
		Tests []map[string]any
	}
	require.NoError(t, yaml.Unmarshal(content, &file))
	content, err = os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "gpureceiver-bill.json"))
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(content, &dashboard))
	var queries []any
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expression := strings.NewReplacer("$__range", "2h", "$cluster", ".*", "$namespace", ".*").Replace(target.Expr)
			assert.NotContains(t, expression, "$")
			queries = append(queries, map[string]any{
				"expr": "count(" + expression + ") > bool 0", "eval_time": "2h", "exp_samples": []sample{{"{}", 1}},
			})
		}
	}
	require.NotEmpty(t, queries)
	test := file.Tests[0]
	test["promql_expr_test"] = queries
	directory, err := filepath.Abs(filepath.Join("..", "..", "deploy", "prometheus"))
	require.NoError(t, err)
	testRules(t, promtool, map[string]any{
		"rule_files":          []string{filepath.Join(directory, "recording.rules.yaml"), filepath.Join(directory, "prices.example.yaml")},
		"evaluation_interval": "1m",
		"tests":               []any{test},
	})
}
