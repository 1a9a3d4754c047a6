// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package columns has the columns in which the terminal shows GPUs, processes, pods and the other things of the API. The API has the columns
// by which it sorts and which CSV has (internal/view/api); Field names one of them.
package columns // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/columns"

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
)

// Level is how much a cell matters.
type Level int

// The levels of cells.
const (
	Normal Level = iota
	Good
	Warn
	Bad
	Faint
)

// Column is one quantity of the rows of a table.
type Column[T any] struct {
	Title    string         // for people
	Field    string         // the API's name of it, to sort by; empty: it is not sorted by
	Right    bool           // aligned to the right
	Number   bool           // it is a number: sorting starts with the largest
	Optional bool           // a table omits it if no row has a value
	Keep     int            // a narrow terminal first drops the columns with the smallest
	Identity bool           // it identifies a row: a narrow terminal drops it after all others
	Min      int            // a narrow terminal shortens it to this many cells; 0: not at all
	Text     func(T) string // for people, in their units
	Value    func(T) any    // string, int or float64, nil: not known; only read of optional columns, and to sort what the API does not list
	Level    func(T) Level  // nil: always normal
}

// Set is what a table shows.
type Set[T any] []Column[T]

// Known returns the columns that have a value in some row, and those that a table always has.
func (s Set[T]) Known(rows []T) Set[T] {
	return slices.DeleteFunc(slices.Clone(s), func(c Column[T]) bool {
		return c.Optional && !slices.ContainsFunc(rows, func(row T) bool { return c.Value(row) != nil })
	})
}

// Find returns the column of a field, or nil.
func (s Set[T]) Find(field string) *Column[T] {
	for i := range s {
		if s[i].Field == field {
			return &s[i]
		}
	}
	return nil
}

// Titles returns the headings.
func (s Set[T]) Titles() []string {
	titles := make([]string, len(s))
	for i, c := range s {
		titles[i] = c.Title
	}
	return titles
}

// Rights returns which columns are aligned to the right.
func (s Set[T]) Rights() []bool {
	rights := make([]bool, len(s))
	for i, c := range s {
		rights[i] = c.Right
	}
	return rights
}

// Texts returns the cells of rows.
func (s Set[T]) Texts(rows []T) [][]string {
	texts := make([][]string, len(rows))
	for i, row := range rows {
		texts[i] = make([]string, len(s))
		for j, c := range s {
			texts[i][j] = c.Text(row)
		}
	}
	return texts
}

// Compare orders two values of one column. Unknown values come last, in both directions.
func Compare(a, b any, descending bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	order := compare(a, b)
	if descending {
		return -order
	}
	return order
}

func compare(a, b any) int {
	switch x := a.(type) {
	case string:
		y, _ := b.(string)
		return byNumber(x, y)
	case int:
		y, _ := b.(int)
		return cmp.Compare(x, y)
	case float64:
		y, _ := b.(float64)
		return cmp.Compare(x, y)
	default:
		return 0
	}
}

// value returns what a pointer refers to.
func value[V any](v *V) any {
	if v == nil {
		return nil
	}
	return *v
}

// text is a column of a text.
func text[T any](title, field string, keep int, get func(T) *string) Column[T] {
	return Column[T]{
		Title: title, Field: field, Keep: keep,
		Text: func(t T) string { return display.Text(get(t)) }, Value: func(t T) any { return value(get(t)) },
	}
}

// optional makes a column one that is only shown if a row has a value.
func optional[T any](c Column[T]) Column[T] {
	c.Optional = true
	return c
}

// identity makes a column one that identifies a row, and can be shortened to a number of cells; 0: not at all.
func identity[T any](c Column[T], least int) Column[T] {
	c.Identity, c.Min = true, least
	return c
}

// shortened lets a column be shortened to a number of cells.
func shortened[T any](c Column[T], least int) Column[T] {
	c.Min = least
	return c
}

// amount is a column of a number with a unit.
func amount[T any](title, field string, keep int, get func(T) *float64, show func(*float64) string) Column[T] {
	return Column[T]{
		Title: title, Field: field, Keep: keep, Right: true, Number: true,
		Text: func(t T) string { return show(get(t)) }, Value: func(t T) any { return value(get(t)) },
	}
}

// count is a column of a number of things.
func count[T any](title, field string, keep int, get func(T) *int) Column[T] {
	return Column[T]{
		Title: title, Field: field, Keep: keep, Right: true, Number: true,
		Text: func(t T) string { return display.Count(get(t)) }, Value: func(t T) any { return value(get(t)) },
	}
}
