// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	_ "embed"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
)

// span is code within a sentence, a heading or a cell.
type span struct {
	page, text string
	line       int
}

// spans returns the code spans of all pages but the changelog, which has names of former versions.
func spans(t *testing.T) []span {
	t.Helper()
	var all []span
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue
		}
		p.each(func(n ast.Node) bool {
			if code, ok := n.(*ast.CodeSpan); ok {
				all = append(all, span{p.path, p.words(code, ""), p.line(code)})
			}
			return true
		})
	}
	require.NotEmpty(t, all)
	return all
}

// class is a kind of code that can be checked.
type class struct {
	name string
	// is reports whether a span is of this class. A span can be of several.
	is func(span) bool
	// check returns an error if a span of this class names something that does not exist.
	check func(span) error
	// good and bad are spans that show that the check accepts and refuses.
	good, bad string
}

// classes returns all classes. Each file inline_*_test.go has the classes of one kind of truth.
func classes(t *testing.T) []class {
	t.Helper()
	var all []class
	for _, some := range []func(*testing.T) []class{
		commandClasses, flagClasses, fileClasses, goClasses, nameClasses, prometheusClasses, ownMetricClasses, settingClasses, routeClasses,
	} {
		all = append(all, some(t)...)
	}
	return all
}

// othersNames are spans that look like our names but are not. A line is: the span, the page or * for all, and its owner or origin.
//
//go:embed inline.tsv
var othersNames string

type othersName struct{ text, page, owner string }

func othersNameList(t *testing.T) []othersName {
	t.Helper()
	var all []othersName
	for line := range strings.Lines(othersNames) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		cells := strings.Split(line, "\t")
		require.Len(t, cells, 3, line)
		all = append(all, othersName{cells[0], cells[1], cells[2]})
	}
	return all
}

// The commands, files, names, settings and routes that the pages have in sentences and cells exist.
func TestInlineCode(t *testing.T) {
	t.Parallel()
	all, others, needed := spans(t), othersNameList(t), map[othersName]bool{}
	for _, c := range classes(t) {
		checked := 0
		for _, s := range all {
			if !c.is(s) {
				continue
			}
			checked++
			err := c.check(s)
			if err == nil {
				continue
			}
			if other, ok := isOthers(others, s); ok {
				needed[other] = true
				continue
			}
			assert.Fail(t, c.name, "%s:%d: `%s`: %v; correct it, or add a line to test/docs/inline.tsv if the name is not ours", s.page, s.line, s.text, err)
		}
		t.Logf("%s: %d spans", c.name, checked)
		assert.NotZero(t, checked, "no page has a span of this class: %s", c.name)
	}
	for _, other := range others {
		assert.True(t, needed[other], "inline.tsv: this line is not needed: %v", other)
	}
}

func isOthers(all []othersName, s span) (othersName, bool) {
	for _, other := range all {
		if other.text == s.text && (other.page == "*" || other.page == s.page) {
			return other, true
		}
	}
	return othersName{}, false
}

// What each check must accept and must notice.
func TestInlineClasses(t *testing.T) {
	t.Parallel()
	for _, c := range classes(t) {
		for text, ok := range map[string]bool{c.good: true, c.bad: false} {
			s := span{page: "README.md", text: text}
			if assert.True(t, c.is(s), "%s: `%s`", c.name, text) {
				err := c.check(s)
				assert.Equal(t, ok, err == nil, "%s: `%s`: %v", c.name, text, err)
			}
		}
	}
}

var errNotDeclared = errors.New("not declared")
