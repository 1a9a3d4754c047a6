// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// reference is the directory of events.md.
var reference = filepath.Join("..", "..", "docs", "reference")

// docs/reference/events.md has a row for each event. It links to a page, or a section of one, with a whole record of that kind, a query and
// an alert, or says that these are missing. The page has a row with the severity and the body of each event, as in the golden files.
func TestEventsAreDocumented(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, declared.Events)
	overview := markdownSection(readPage(t, "events.md"), "all-events")
	require.NotEmpty(t, overview)
	bodies := goldenBodies(t)
	for event := range declared.Events {
		t.Run(event, func(t *testing.T) {
			require.NotEmpty(t, bodies[event], "no golden file has the event")
			link := regexp.MustCompile("(?m)^\\| \\[`" + regexp.QuoteMeta(event) + "`\\]\\(([^)#]+)(?:#([^)]+))?\\)").FindStringSubmatch(overview)
			require.NotNil(t, link, "the table of all events has no link to a page")
			page := readPage(t, link[1])
			row := exampleRow(page, event)
			require.NotEmpty(t, row, "no row with the body")
			assert.Contains(t, bodies[event], row, "not what the golden files have")

			section := page
			if link[2] != "" {
				section = markdownSection(page, link[2])
			}
			assert.Contains(t, section, "eventName: "+family(event), "a whole record")
			assert.Contains(t, section, "```logql", "a query")
			assert.Regexp(t, "- alert:|No alert", section)
		})
	}
}

// docs/reference/events.md says once of each event when it is missing, and of nothing else.
func TestEventsSayWhenTheyAreMissing(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	section := markdownSection(readPage(t, "events.md"), "when-an-event-is-missing")
	_, table, exists := strings.Cut(section, "\n| event | missing when |\n|---|---|\n")
	require.True(t, exists, "the table")
	rows := map[string]int{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		row := regexp.MustCompile("^\\| (`[^|]+`) \\| ([A-Z`][^|]+\\.) \\|\n$").FindStringSubmatch(line)
		require.NotNil(t, row, "| `event`, `event` | A sentence. |: %s", line)
		for name := range strings.SplitSeq(row[1], ", ") {
			rows[strings.Trim(name, "`")]++
		}
	}
	for event := range declared.Events {
		assert.Equal(t, 1, rows[event], event)
	}
	for event := range rows {
		_, ok := declared.Events[event]
		assert.True(t, ok, "%s is not declared", event)
	}
}

// The records that the pages of docs/reference/events show have attributes that are declared for the event.
func TestDocumentedRecordsHaveDeclaredAttributes(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(reference, "events", "*.md"))
	require.NoError(t, err)
	records := 0
	for _, file := range pages {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```yaml\n(eventName: .*?)```").FindAllSubmatch(page, -1) {
			var record struct {
				EventName  string         `json:"eventName"`
				Time       string         `json:"timeUnixNano"`
				Severity   int            `json:"severityNumber"`
				Body       map[string]any `json:"body"`
				Attributes map[string]any `json:"attributes"`
			}
			require.NoError(t, yaml.UnmarshalStrict(block[1], &record), file)
			records++
			assert.Positive(t, record.Severity, "%s: %s", file, record.EventName)
			for name := range record.Attributes {
				if !strings.HasPrefix(name, "k8s.pod.label.") { // configured
					assert.Contains(t, declared.Events[record.EventName].Attributes, name, "%s: %s", file, record.EventName)
				}
			}
		}
	}
	assert.GreaterOrEqual(t, records, 13)
}

// The queries and the alerts of docs/reference/events name events and attributes that are declared.
func TestDocumentedQueriesNameWhatIsDeclared(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	attributes := map[string]bool{"severity_number": true, "event_name": true, "service_name": true} // fields of a record
	for name := range declared.Attributes {
		attributes[name], attributes[strings.ReplaceAll(name, ".", "_")] = true, true
	}
	for name := range declared.ResourceAttributes {
		attributes[strings.ReplaceAll(name, ".", "_")] = true
	}
	pages, err := filepath.Glob(filepath.Join(reference, "events", "*.md"))
	require.NoError(t, err)
	names := 0
	for _, file := range pages {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```(?:logql|sql|yaml\n- alert:).*?```").FindAllString(string(page), -1) {
			for _, m := range regexp.MustCompile(`(?i)event_?name = ["']([^"']+)["']`).FindAllStringSubmatch(block, -1) {
				names++
				assert.Contains(t, declared.Events, m[1], file)
			}
			// Of LogQL `| a = "b"`, `by (a, b)`, `unwrap a` and `{{.a}}`; of SQL LogAttributes['a'].
			for _, m := range regexp.MustCompile(`\| (\w+) *[=!<>]|\bby \(([^)]*)\)|\bunwrap (\w+)|\{\{\.(\w+)\}\}|LogAttributes\['([^']+)'\]`).FindAllStringSubmatch(block, -1) {
				for name := range strings.SplitSeq(strings.Join(m[1:], ""), ", ") {
					names++
					assert.True(t, attributes[name], "%s: %s", file, name)
				}
			}
		}
	}
	assert.Greater(t, names, 50)
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(reference, filepath.FromSlash(path)))
	require.NoError(t, err)
	return string(content)
}

// family returns the prefix of the names of the events that have the attributes of an event in common.
func family(event string) string {
	switch parent := event[:strings.LastIndex(event, ".")]; parent {
	case "hw.gpu": // the events of faults differ by name alone
		if event == "hw.gpu.xid" || event == "hw.gpu.status" {
			return event
		}
		return parent
	default:
		return parent
	}
}

// goldenBodies returns "severity | body" of each record of the golden files, by event.
func goldenBodies(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*events.yaml")
	require.NoError(t, err)
	bodies := map[string][]string{}
	for _, file := range files {
		logs, err := golden.ReadLogs(file)
		require.NoError(t, err)
		for _, record := range recordsOf(logs) {
			bodies[record.EventName()] = append(bodies[record.EventName()], fmt.Sprintf("%s | %s", strings.ToUpper(record.SeverityNumber().String()), record.Body().AsString()))
		}
	}
	return bodies
}

// exampleRow returns "severity | body" of the first row | `event` | severity | `body` | of a page.
func exampleRow(page, event string) string {
	row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(event) + "` \\| ([A-Z]+) \\| `(.*)` \\|$").FindStringSubmatch(page)
	if row == nil {
		return ""
	}
	return row[1] + " | " + row[2]
}

// markdownSection returns the section with an anchor, including those below it.
func markdownSection(page, anchor string) string {
	var section strings.Builder
	level := 0
	code := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if depth := len(line) - len(strings.TrimLeft(line, "#")); depth > 0 && !code {
			if level > 0 && depth <= level {
				break
			}
			if level == 0 && anchorOf(line[depth:]) == anchor {
				level = depth
			}
		}
		if level > 0 {
			section.WriteString(line)
		}
	}
	return section.String()
}

// anchorOf returns the anchor of a heading, as GitHub makes it.
func anchorOf(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
}
