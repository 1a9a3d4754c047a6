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

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// docs/reference/events.md has a row for each event with a link to a section that has a whole record of that kind, a query and an alert, or says
// that there is none. The page's table of bodies has a row for each event, as a golden file has it.
func TestEventsAreDocumented(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, declared.Events)
	bytes, err := os.ReadFile("../../docs/reference/events.md")
	require.NoError(t, err)
	docs := string(bytes)
	overview := markdownSection(docs, "all-events")
	require.NotEmpty(t, overview)
	bodies := goldenBodies(t)
	for event := range declared.Events {
		t.Run(event, func(t *testing.T) {
			require.NotEmpty(t, bodies[event], "no golden file has the event")
			row := exampleRow(docs, event)
			require.NotEmpty(t, row, "no row in the table of bodies")
			assert.Contains(t, bodies[event], row, "not what the golden files have")

			link := regexp.MustCompile("`" + regexp.QuoteMeta(event) + "`[^\\]]*\\]\\(#([^)]+)\\)").FindStringSubmatch(overview)
			require.NotNil(t, link, "the table of all events has no link to a section")
			section := markdownSection(docs, link[1])
			assert.Contains(t, section, "eventName: "+family(event), "a whole record")
			assert.Contains(t, section, "```logql", "a query")
			assert.Regexp(t, "- alert:|No alert", section)
		})
	}
}

// family returns how the names of the events begin that have the attributes of an event in common.
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

// exampleRow returns "severity | body" of the first row `event` | severity | body of a page.
func exampleRow(page, event string) string {
	row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(event) + "` \\| ([A-Z]+ \\| .*) \\|$").FindStringSubmatch(page)
	if row == nil {
		return ""
	}
	return row[1]
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
