// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"slices"
	"strings"
)

// table reads rows of --format=csv: cells separated by a comma and a space, without any quoting. The heading names the columns, in the
// tool's own spelling and with units. Without a heading (noheader) the columns are the queried columns, in that order.
type table struct {
	columns  []string
	isColumn func(name string) bool // reports whether a column has this name
	freeText []string               // columns whose text may contain commas; a table has one of them at most
}

// read calls row with the columns' names and the cells of each row. It returns whether there was a heading or a row, and how
// many lines were neither a row nor a message.
func (t *table) read(data []byte, row func(names []string, cells [][]byte)) (found bool, bad int) {
	names := t.columns
	for line := range lines(clean(data)) {
		if isMessage(line) {
			continue
		}
		if heading, ok := t.heading(line); ok {
			names, found = heading, true
			continue
		}
		cells := split(line, len(names), t.freeColumn(names))
		if len(names) == 0 || len(cells) != len(names) {
			bad++
			continue
		}
		found = true
		row(names, cells)
	}
	return found, bad
}

// heading reads a line as a heading: every cell has the form of a name, and at least one is known. A column with an unknown name gets its
// queried name, if the numbers of columns agree.
func (t *table) heading(line []byte) (names []string, ok bool) {
	cells := split(line, 0, -1)
	for i, c := range cells {
		name, _, _ := strings.Cut(text(bytes.TrimSpace(c)), " [")
		if !isName(name) {
			return nil, false
		}
		if t.isColumn(name) {
			ok = true
		} else if len(cells) == len(t.columns) {
			name = t.columns[i]
		}
		names = append(names, name)
	}
	return names, ok
}

// isName reports whether a text has the form of a column's name: pcie.link.gen.current.
func isName(s string) bool {
	for i, c := range []byte(s) {
		small := c >= 'a' && c <= 'z'
		if !small && (i == 0 || (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_') {
			return false
		}
	}
	return s != ""
}

// freeColumn returns the place of the column with free text, or -1.
func (t *table) freeColumn(names []string) int {
	return slices.IndexFunc(names, func(n string) bool { return slices.Contains(t.freeText, n) })
}

// split cuts a line into cells. If there are more than want, the surplus commas belong to the free column.
func split(line []byte, want, free int) [][]byte {
	separator := []byte(", ")
	switch {
	case bytes.HasSuffix(line, []byte(",")): // an empty last cell whose space was cut off
		line = append(bytes.Clone(line), ' ')
	case !bytes.Contains(line, separator):
		separator = []byte(",")
	}
	cells := bytes.Split(line, separator)
	surplus := len(cells) - want
	if want == 0 || surplus <= 0 || free < 0 {
		return cells
	}
	joined := bytes.Join(cells[free:free+surplus+1], separator)
	return slices.Concat(cells[:free], [][]byte{joined}, cells[free+surplus+1:])
}
