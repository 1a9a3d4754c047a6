// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// runbooks is the address of docs/operate/alerts.md.
const runbooks = "https://github.com/otelgpu/gpureceiver/blob/main/docs/operate/alerts.md#"

type alert struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

// Each alert leads to a section of docs/operate/alerts.md, which says when it ends, and has a label by which the page says to silence it. Each section
// whose heading starts with GPU is of an alert, and the table there has a row for each alert, with its severity.
func TestRunbooks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		assert.NotContains(t, sections, heading)
		if strings.HasPrefix(heading, "GPU") {
			sections[heading] = strings.TrimSpace(body)
		}
	}
	_, ends, _ := strings.Cut(string(text), "\n### When alerts end\n")
	ends, _, _ = strings.Cut(ends, "\n## ")
	silences := regexp.MustCompile("`((?:hw|k8s|host)_[a-z_]+|instance)`").FindAllStringSubmatch(ends, -1)
	require.NotEmpty(t, silences)
	var order, alerts []string
	for _, a := range shippedAlerts(t) {
		alerts = append(alerts, a.Alert)
		// GitHub's anchor of a heading of letters alone is the heading in small letters.
		assert.Equal(t, runbooks+strings.ToLower(a.Alert), a.Annotations["runbook_url"], a.Alert)
		assert.Greater(t, len(sections[a.Alert]), 100, "docs/operate/alerts.md: %s: what does it mean, what is to be done?", a.Alert)
		assert.Contains(t, sections[a.Alert], "**When it ends.** ", "docs/operate/alerts.md: %s", a.Alert)
		assert.True(t, slices.ContainsFunc(silences, func(label []string) bool { return strings.Contains(a.Expr, label[1]) }),
			"docs/operate/alerts.md, When alerts end: no label that silences %s", a.Alert)
		row := fmt.Sprintf("\n| %s | [%s](#%s) | ", a.Labels["severity"], a.Alert, strings.ToLower(a.Alert))
		assert.Equal(t, 1, strings.Count(string(text), row), "docs/operate/alerts.md: a row%s", row)
	}
	assert.Len(t, regexp.MustCompile(`(?m)^\| (critical|warning|info) \| `).FindAllString(string(text), -1), len(alerts), "docs/operate/alerts.md: rows of alerts")
	for heading := range sections {
		order = append(order, heading)
	}
	assert.ElementsMatch(t, alerts, order)
}

// The alert for a fault says what the vocabulary says about it, and its runbook says what to do first.
func TestAlertsGiveTheRemedies(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	plain := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(string(text), "$1")
	descriptions := map[string]string{}
	for _, a := range shippedAlerts(t) {
		descriptions[a.Alert] = a.Annotations["description"]
	}
	for _, r := range gpu.Remedies {
		assert.Contains(t, descriptions[r.Alert], r.Text(), r.Alert)
		_, section, _ := strings.Cut(plain, "\n## "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		assert.Contains(t, strings.ToLower(section), strings.ToLower(r.First), "docs/operate/alerts.md: %s", r.Alert)
	}
}

// Each alert has a test in which it fires, and one in which it does not.
func TestEveryAlertIsTested(t *testing.T) {
	paths, err := filepath.Glob("*.test.yaml")
	require.NoError(t, err)
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var file struct {
			Tests []struct {
				Cases []struct {
					Alertname string `json:"alertname"`
					Alerts    []any  `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		require.NoError(t, yaml.Unmarshal(text, &file), path)
		for _, test := range file.Tests {
			for _, c := range test.Cases {
				if len(c.Alerts) > 0 {
					fires[c.Alertname] = true
				} else {
					rests[c.Alertname] = true
				}
			}
		}
	}
	for _, a := range shippedAlerts(t) {
		assert.True(t, fires[a.Alert], "%s: no test in which it fires", a.Alert)
		assert.True(t, rests[a.Alert], "%s: no test in which it does not fire", a.Alert)
	}
}

// shippedAlerts are the alerts of deploy/prometheus/alerting.rules.yaml.
func shippedAlerts(t *testing.T) (alerts []alert) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", "alerting.rules.yaml"))
	require.NoError(t, err)
	var file struct {
		Groups []struct{ Rules []alert }
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, group := range file.Groups {
		alerts = append(alerts, group.Rules...)
	}
	require.NotEmpty(t, alerts)
	return alerts
}
