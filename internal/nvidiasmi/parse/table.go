// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
)

// table reads rows of --format=csv: cells parted by a comma and a space, without any quoting. The heading names the
// columns, in the tool's own spelling and with units; without one (noheader) the order is that of the question.
type table struct {
	asked []string               // the columns' names in the question's order
	known func(name string) bool // whether a name is that of a column
	free  func(name string) bool // whether a column holds text in which commas may stand
}

// read calls row with the columns' names and a row's cells. It returns whether there was a heading or a row, and how many
// lines were neither a row nor a message.
func (t *table) read(data []byte, row func(names []string, cells [][]byte)) (found bool, bad int) {
	names, free := t.asked, t.freeColumn(t.asked)
	var cells [][]byte
	for line := range lines(clean(data)) {
		if isMessage(line) {
			continue
		}
		if heading, ok := t.heading(line); ok {
			names, free, found = heading, t.freeColumn(heading), true
			continue
		}
		cells = split(cells[:0], line, len(names), free)
		if len(names) == 0 || len(cells) != len(names) {
			bad++
			continue
		}
		found = true
		row(names, cells)
	}
	return found, bad
}

// heading reads a line as a heading: every cell has a name's shape, and at least one is known. A column of a name that is
// not known gets the name it was asked by, where the numbers of columns agree.
func (t *table) heading(line []byte) ([]string, bool) {
	if line[0] < 'a' || line[0] > 'z' {
		return nil, false // what nearly every row begins with
	}
	cells := split(nil, line, 0, -1)
	names := make([]string, len(cells))
	hits := 0
	for i, c := range cells {
		name, _, _ := strings.Cut(text(bytes.TrimSpace(c)), " [")
		if !isName(name) {
			return nil, false
		}
		if t.known(name) {
			hits++
		} else if len(cells) == len(t.asked) {
			name = t.asked[i]
		}
		names[i] = name
	}
	return names, hits > 0
}

// isName tells a column's name from a value: pcie.link.gen.current.
func isName(s string) bool {
	for i, c := range []byte(s) {
		small := c >= 'a' && c <= 'z'
		if !small && (i == 0 || (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_') {
			return false
		}
	}
	return s != ""
}

func (t *table) freeColumn(names []string) int {
	for i, n := range names {
		if t.free(n) {
			return i
		}
	}
	return -1
}

// split cuts a line into cells. Where there are more than want, the surplus commas belong to the free column.
func split(cells [][]byte, line []byte, want, free int) [][]byte {
	separator := []byte(", ")
	switch {
	case bytes.HasSuffix(line, []byte(",")): // an empty last cell whose space was cut off
		line = append(bytes.Clone(line), ' ')
	case !bytes.Contains(line, separator):
		separator = []byte(",")
	}
	for rest, more := line, true; more; {
		var cell []byte
		cell, rest, more = bytes.Cut(rest, separator)
		cells = append(cells, cell)
	}
	surplus := len(cells) - want
	if want == 0 || surplus <= 0 || free < 0 {
		return cells
	}
	joined := bytes.Join(cells[free:free+surplus+1], separator)
	return append(append(cells[:free:free], joined), cells[free+surplus+1:]...)
}
