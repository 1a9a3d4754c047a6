// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a Markdown file of the repository.
type page struct {
	path   string // from the root of the repository, with slashes
	source []byte
	root   ast.Node
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	return root
}

// pages returns all Markdown files that git would commit.
func pages(t *testing.T) []page {
	t.Helper()
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	command.Dir = repository(t)
	listed, err := command.Output()
	require.NoError(t, err)
	var result []page
	for path := range strings.Lines(string(listed)) {
		path = strings.TrimSpace(path)
		source, err := os.ReadFile(filepath.Join(repository(t), path))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		require.NoError(t, err)
		result = append(result, parse(path, source))
	}
	require.NotEmpty(t, result)
	return result
}

func parse(path string, source []byte) page {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	return page{path, source, markdown.Parser().Parse(text.NewReader(source))}
}

// each calls f with every node of a page on the way down. If f returns false, the children of the node are left out.
func (p page) each(f func(ast.Node) bool) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && !f(n) {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}

// words returns the text of a node as a reader sees it. If code is not "", it replaces the code spans.
func (p page) words(n ast.Node, code string) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			if code != "" {
				b.WriteString(code)
				return ast.WalkSkipChildren, nil
			}
		case *ast.Text:
			b.Write(n.Segment.Value(p.source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.URL(p.source))
		case *ast.RawHTML:
			if bytes.HasPrefix(n.Segments.Value(p.source), []byte("<br")) {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// line returns the number of the first line of a block.
func (p page) line(n ast.Node) int {
	for ; n != nil; n = n.FirstChild() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return 1 + bytes.Count(p.source[:n.Lines().At(0).Start], []byte("\n"))
		}
		if t, ok := n.(*ast.Text); ok {
			return 1 + bytes.Count(p.source[:t.Segment.Start], []byte("\n"))
		}
	}
	return 0
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	p.each(func(n ast.Node) bool {
		if heading, ok := n.(*ast.Heading); ok {
			anchor := slug(p.words(heading, ""))
			unique := anchor
			for i := 1; all[unique]; i++ {
				unique = anchor + "-" + strconv.Itoa(i)
			}
			all[unique] = true
		}
		return true
	})
	return all
}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
