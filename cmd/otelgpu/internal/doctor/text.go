// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Outputs are the forms of a report.
var Outputs = []string{"text", "json"}

// Text returns the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	for i, s := range r.Sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(gpu.CleanText(s.Name) + "\n")
		subjects := 0
		for _, c := range s.Checks {
			subjects = max(subjects, display.Width(gpu.CleanText(c.Subject)))
		}
		for _, c := range s.Checks {
			fmt.Fprintf(&b, "  %-6s  %s  %s\n", c.State, display.Fit(gpu.CleanText(c.Subject), subjects, false), indented(c.Found, subjects+12))
		}
	}
	for i := range r.Comparisons {
		b.WriteString(r.Comparisons[i].text())
	}
	switch r.Failed {
	case 0:
		b.WriteString("\nEverything that is configured can be read.\n")
	case 1:
		b.WriteString("\n1 check failed.\n")
	default:
		fmt.Fprintf(&b, "\n%d checks failed.\n", r.Failed)
	}
	return b.String()
}

// indented puts spaces before each line but the first, and leaves empty lines out.
func indented(text string, spaces int) string {
	lines := slices.DeleteFunc(strings.Split(display.CleanLines(text), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(lines, "\n"+strings.Repeat(" ", spaces))
}

// JSON returns the report for programs.
func (r *Report) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(display.CleanJSON(data), '\n'), nil
}
