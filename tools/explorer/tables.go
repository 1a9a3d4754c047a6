// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html/template"
	"os"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// cell is a cell of a table.
type cell struct {
	text string        // without markup
	html template.HTML // with code and links, which lead from the page's folder
}

// row is a row of a table: the first cell, and the others by the heading of their column.
type row struct {
	first cell
	cells map[string]cell
}

// readTables returns the rows of all tables of a Markdown file whose first columns have these headings.
func readTables(file string, headings ...string) ([]row, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the repository is what the developer says
	if err != nil {
		return nil, err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	document := markdown.Parser().Parse(text.NewReader(content))
	var found []row
	for block := document.FirstChild(); block != nil; block = block.NextSibling() {
		if _, ok := block.(*table.Table); !ok {
			continue
		}
		var rows [][]cell
		for r := block.FirstChild(); r != nil; r = r.NextSibling() {
			var cells []cell
			for c := r.FirstChild(); c != nil; c = c.NextSibling() {
				read, err := readCell(markdown, content, c)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				cells = append(cells, read)
			}
			rows = append(rows, cells)
		}
		if begins(rows[0], headings) {
			found = append(found, byHeading(rows[0], rows[1:])...)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no table whose columns begin with %s", file, strings.Join(headings, ", "))
	}
	return found, nil
}

// readCell renders what is in a cell.
func readCell(markdown goldmark.Markdown, content []byte, of ast.Node) (cell, error) {
	var plain, html bytes.Buffer
	err := ast.Walk(of, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			plain.Write(t.Segment.Value(content))
		}
		return ast.WalkContinue, nil
	})
	for n := of.FirstChild(); n != nil && err == nil; n = n.NextSibling() {
		err = markdown.Renderer().Render(&html, content, n)
	}
	return cell{text: plain.String(), html: template.HTML(html.String())}, err //nolint:gosec // goldmark escapes what is no markup
}

func begins(head []cell, headings []string) bool {
	if len(head) < len(headings) {
		return false
	}
	for i, heading := range headings {
		if head[i].text != heading {
			return false
		}
	}
	return true
}

func byHeading(head []cell, rows [][]cell) []row {
	var found []row
	for _, cells := range rows {
		r := row{first: cells[0], cells: map[string]cell{}}
		for i := 1; i < len(cells); i++ {
			r.cells[head[i].text] = cells[i]
		}
		found = append(found, r)
	}
	return found
}
