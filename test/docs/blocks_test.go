// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
	"sigs.k8s.io/yaml"
)

// block is a fenced block of a page.
type block struct {
	page, language, text string
	line                 int
}

// first returns the first line that says something, which names the block in commands.tsv.
func (b block) first() string {
	for line := range strings.Lines(b.text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, p := range pages(t) {
		if strings.HasSuffix(p.path, "documentation.md") {
			continue
		}
		p.each(func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FencedCodeBlock:
				all = append(all, block{p.path, string(n.Language(p.source)), string(n.Lines().Value(p.source)), p.line(n)})
			case *ast.CodeBlock:
				assert.Fail(t, "a block without a language", "%s:%d", p.path, p.line(n))
			}
			return true
		})
	}
	require.NotEmpty(t, all)
	return all
}

// parsers return an error if a block is not valid in its language.
var parsers = map[string]func(string) error{
	"sh":     parseShell,
	"yaml":   parseYAML,
	"json":   parseJSON,
	"promql": parsePromQL,
	"csv":    func(text string) error { _, err := csv.NewReader(strings.NewReader(text)).ReadAll(); return err },
	"text":   func(string) error { return nil }, // output, and directory trees
	"sql":    nil,
	"logql":  nil,
	"http":   nil,
	"ini":    nil,
	"go":     parseGo,
}

// Each block has a language, and is written as that language is.
func TestBlocksParse(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t) {
		parse, ok := parsers[b.language]
		if !assert.True(t, ok, "%s:%d: no parser of %q", b.page, b.line, b.language) || parse == nil {
			continue
		}
		assert.NoError(t, parse(b.text), "%s:%d", b.page, b.line)
	}
}

func parseShell(text string) error {
	command := exec.Command("bash", "-n")
	command.Stdin = strings.NewReader(text)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

var documentEnd = regexp.MustCompile(`(?m)^---\n`)

func parseYAML(text string) error {
	for _, document := range documentEnd.Split(text, -1) {
		var content any
		if err := yaml.UnmarshalStrict([]byte(document), &content); err != nil {
			return err
		}
	}
	return nil
}

// parseJSON takes several values, one after the other.
func parseJSON(text string) error {
	for decoder := json.NewDecoder(bytes.NewBufferString(text)); ; {
		var value any
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// parsePromQL takes several queries with empty lines between them.
func parsePromQL(text string) error {
	for query := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(query); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return nil
}
