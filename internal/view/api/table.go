// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// table describes the entries of a list: columns, which are the columns of CSV and of sorting, and an identity.
type table[T any] struct {
	columns []column[T]
	order   string           // the column by which it is sorted by default, as in the parameter; empty: by identity
	key     func(T) string   // identity, which determines the order of the list
	names   func(T) []string // texts for a search beside the columns; nil: no other
}

type column[T any] struct {
	name  string
	value func(T) any // a number, text, bool or time, a pointer to one, or a list of texts
}

// page is a part of a list.
type page[T any] struct {
	total int
	next  *string
	items []T
}

func (t *table[T]) parameters() []route.Parameter {
	sorts := make([]string, 0, 2*len(t.columns))
	for _, c := range t.columns {
		sorts = append(sorts, c.name, "-"+c.name)
	}
	return pageParameters(sorts, t.order)
}

// page sorts a list and returns the requested page. It starts after the last entry of the page before: an entry that appears or disappears
// moves no other from one page to the next.
func (t *table[T]) page(r *route.Request, all []T) (page[T], error) {
	sort := r.Text("sort")
	name, descending := strings.CutPrefix(sort, "-")
	value := func(T) any { return "" }
	if i := slices.IndexFunc(t.columns, func(c column[T]) bool { return c.name == name }); i >= 0 {
		value = t.columns[i].value
	}
	after, err := t.after(r, sort)
	if err != nil {
		return page[T]{}, err
	}
	text := strings.ToLower(r.Text("search"))
	if text != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !t.contains(v, text) })
	}
	partly := func(v T) bool {
		return text != "" && sort == t.order && !t.matches(v, func(s string) bool { return s == text })
	}
	p := page[T]{total: len(all), items: []T{}}
	entries := make([]ranked[T], 0, len(all))
	for _, v := range all {
		entry := ranked[T]{rank: rankOf(value(v), t.key(v)), entry: v}
		entry.rank.Partly = partly(v)
		if after == nil || entry.rank.compare(after, descending) > 0 {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b ranked[T]) int { return a.rank.compare(&b.rank, descending) })
	limit := int(r.Integer("limit"))
	for i := range entries[:min(limit, len(entries))] {
		p.items = append(p.items, entries[i].entry)
	}
	if len(entries) > limit {
		next := (&cursor{Sort: sort, After: entries[limit-1].rank}).encode()
		p.next = &next
	}
	return p, nil
}

// contains reports whether an entry contains a text in lower case.
func (t *table[T]) contains(entry T, text string) bool {
	return t.matches(entry, func(s string) bool { return strings.Contains(s, text) })
}

// matches reports whether one of an entry's texts or whole numbers fulfils a condition, as text in lower case.
func (t *table[T]) matches(entry T, condition func(string) bool) bool {
	has := func(v string) bool { return condition(strings.ToLower(v)) }
	for _, c := range t.columns {
		switch v := plain(c.value(entry)).(type) {
		case string:
			if has(v) {
				return true
			}
		case int:
			if has(strconv.Itoa(v)) {
				return true
			}
		case []string:
			if slices.ContainsFunc(v, has) {
				return true
			}
		}
	}
	return t.names != nil && slices.ContainsFunc(t.names(entry), has)
}

// after returns the place after which the page starts, nil for the first.
func (t *table[T]) after(r *route.Request, sort string) (*rank, error) {
	text := r.Text("cursor")
	if text == "" {
		return nil, nil //nolint:nilnil // the first page has no start
	}
	c, err := parseCursor(text, sort)
	if err != nil {
		return nil, route.BadParameter("cursor", err)
	}
	return &c.After, nil
}

// ranked is an entry and its place.
type ranked[T any] struct {
	rank  rank
	entry T
}

// keyOf joins the parts of an identity. It is ordered by the parts, one after the other.
func keyOf(parts ...string) string { return strings.Join(parts, "\x00") }

// numberKey returns a number as a part of an identity; one that is not there is before all others.
func numberKey(n *int) string {
	if n == nil {
		return ""
	}
	const digits = "0123456789"
	text := [10]byte{'0', '0', '0', '0', '0', '0', '0', '0', '0', '0'}
	for i, rest := len(text)-1, max(*n, 0); i >= 0 && rest > 0; i, rest = i-1, rest/10 {
		text[i] = digits[rest%10]
	}
	return string(text[:])
}

// textOf returns a text, empty if it is nil.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
