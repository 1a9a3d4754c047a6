// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/yuin/goldmark/ast"
)

const symptomsPage = "docs/troubleshoot/symptoms.md"

// foreignMessages are messages of docs/troubleshoot/symptoms.md that a module prints whose source is not here.
var foreignMessages = map[string]string{
	"Exporting failed. Will retry the request after interval.": "go.opentelemetry.io/collector/exporter/exporterhelper",
}

// Each message that docs/troubleshoot/symptoms.md quotes is one that the source prints. <…> in the page represents a variable text. Between
// these, and if one message wraps another, each part is in a string of the source.
func TestQuotedMessages(t *testing.T) {
	t.Parallel()
	own := stringsOf(t, "internal", "receiver", "exporter", "cmd")
	quoted, foreign := 0, 0
	p := symptoms(t)
	p.each(func(n ast.Node) bool {
		b, ok := n.(*ast.FencedCodeBlock)
		if !ok {
			return true
		}
		assert.Equal(t, "text", string(b.Language(p.source)), "line %d", p.line(n))
		for line := range strings.Lines(string(b.Lines().Value(p.source))) {
			printed := own
			if module, ok := foreignMessages[strings.TrimSpace(line)]; ok {
				printed = stringsOfModule(t, module)
				foreign++
			}
			quoted++
			for _, part := range missingParts(line, printed) {
				assert.Fail(t, "not in the source", "%s:%d: %q of %q", p.path, p.line(n), part, line)
			}
		}
		return false
	})
	assert.Greater(t, quoted, 30)
	assert.Len(t, foreignMessages, foreign)
}

// A symptom says what to do.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	sections := strings.Split(string(symptoms(t).source), "\n### ")[1:]
	for _, section := range sections {
		heading, text, _ := strings.Cut(section, "\n")
		assert.Equal(t, 1, strings.Count(text, "\n**What to do.** "), heading)
	}
	assert.Greater(t, len(sections), 30)
}

func symptoms(t *testing.T) page {
	t.Helper()
	for _, p := range pages(t) {
		if p.path == symptomsPage {
			return p
		}
	}
	assert.FailNow(t, "there is no page "+symptomsPage)
	return page{}
}

// What the check must notice.
func TestMissingParts(t *testing.T) {
	t.Parallel()
	printed := []string{"nvml: initialise %s: %w", "NVIDIA driver not loaded", "raise the limit of %s, or wait"}
	assert.Empty(t, missingParts("nvml: initialise <library>: NVIDIA driver not loaded; raise the limit of <what>, or wait\n", printed))
	assert.Equal(t, []string{"NVIDIA driver loaded"}, missingParts("nvml: initialise <library>: NVIDIA driver loaded", printed))
	assert.Equal(t, []string{"or lose"}, missingParts("or lose <it>", printed))
}

// partEnd matches what is between the parts of a message. The log has " of " before the GPUs.
var partEnd = regexp.MustCompile(`( of )?<[^<>]+>|: |; |\n`)

// missingParts returns the parts of a message that no string has.
func missingParts(message string, printed []string) []string {
	var missing []string
	for _, part := range partEnd.Split(message, -1) {
		part = strings.Trim(part, " :()")
		if strings.ContainsFunc(part, unicode.IsLetter) && !slices.ContainsFunc(printed, func(s string) bool { return strings.Contains(s, part) }) {
			missing = append(missing, part)
		}
	}
	return missing
}
