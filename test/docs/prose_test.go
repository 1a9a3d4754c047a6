// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
)

// wordList has a line for each word or phrase that we avoid: a regular expression, a tab, and what to write instead.
//
//go:embed words.tsv
var wordList string

type rule struct {
	pattern *regexp.Regexp
	instead string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for line := range strings.Lines(wordList) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, ok := strings.Cut(line, "\t")
		require.True(t, ok, line)
		all = append(all, rule{regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`), instead})
	}
	require.NotEmpty(t, all)
	return all
}

// The documentation keeps to docs/develop/style.md as far as a list of words can find out.
func TestProse(t *testing.T) {
	t.Parallel()
	rules := rules(t)
	for _, p := range pages(t) {
		if unchecked(p) {
			continue
		}
		for _, finding := range findings(p, rules) {
			assert.Fail(t, finding)
		}
	}
}

// unchecked reports whether a page is not written by hand, or is a list of what changed.
func unchecked(p page) bool {
	return strings.HasSuffix(p.path, "documentation.md") || p.path == "CHANGELOG.md" || p.path == "docs/develop/style.md"
}

func findings(p page, rules []rule) []string {
	var result []string
	report := func(n ast.Node, format string, args ...any) {
		result = append(result, fmt.Sprintf("%s:%d: ", p.path, p.line(n))+fmt.Sprintf(format, args...))
	}
	p.each(func(n ast.Node) bool {
		switch n.(type) {
		case *extension.TableCell, *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		default:
			return true
		}
		for _, tag := range p.unknownTags(n) {
			report(n, "%s is a tag of HTML, which no reader sees: write it as code", tag)
		}
		words := p.words(n, "`code`")
		for _, r := range rules {
			for _, m := range r.pattern.FindAllString(words, -1) {
				report(n, "%q: write %s", m, r.instead)
			}
		}
		return false
	})
	return result
}

var knownTag = regexp.MustCompile(`^</?(?:br|picture|source|img)\b|^<!--`)

// unknownTags returns the tags of HTML in a text that the pages do not use: names such as <n> that were not written as code.
func (p page) unknownTags(n ast.Node) []string {
	var result []string
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if html, ok := n.(*ast.RawHTML); ok && entering {
			if tag := string(html.Segments.Value(p.source)); !knownTag.MatchString(tag) {
				result = append(result, tag)
			}
		}
		return ast.WalkContinue, nil
	})
	return result
}

// The check finds what it is for.
func TestFindings(t *testing.T) {
	t.Parallel()
	for text, count := range map[string]int{
		"The receiver reads each GPU.":                   0,
		"It tells whether a GPU is lost.":                1,
		"GPUs of which nothing is known are read anew.":  2,
		"`of which` is code.":                            0,
		"```text\nof which\n```":                         0,
		"The field errors_<block> counts.":               1,
		"The field `errors_<block>`<br>counts.":          0,
		"| a |\n|---|\n| errors_<block>, errors_\\<n> |": 1,
		"- one point of which\n- another":                1,
	} {
		assert.Len(t, findings(parse("page.md", []byte(text)), rules(t)), count, text)
	}
}
