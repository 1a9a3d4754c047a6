// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Documented returns the rows of the tables of keys whose header starts with one of the prefixes, with their whole keys.
func (p *Pages) Documented(headers map[string]string) []Setting {
	var all []Setting
	for header, rows := range p.Tables {
		prefix, ok := keyPrefix(header, headers)
		if !ok {
			continue
		}
		for _, row := range rows {
			cell := func(i int) string { return strings.ReplaceAll(row[i], "`", "") }
			all = append(all, Setting{strings.TrimPrefix(prefix+"::"+cell(0), "::"), cell(1), cell(2)})
		}
	}
	return all
}

// keyPrefix returns the prefix of the keys of a table: the code in the header, whose start is replaced by its entry in headers. A header
// without code is looked up as it is.
func keyPrefix(header string, headers map[string]string) (string, bool) {
	name := header
	if parts := strings.Split(header, "`"); len(parts) == 3 && strings.HasPrefix(header, "Key ") {
		name = parts[1]
	}
	for begin, prefix := range headers {
		if name == begin || strings.HasPrefix(name, begin+"::") {
			return strings.TrimPrefix(prefix+strings.TrimPrefix(name, begin), "::"), true
		}
	}
	return "", false
}

// Compare reports keys without a row, rows without a key, and types and defaults that differ. The defaults in text are what the pages have for
// those that the component only fills in later.
func Compare(t *testing.T, documented, settings []Setting, text map[string]string) {
	t.Helper()
	rows := map[string]Setting{}
	for _, row := range documented {
		assert.NotContains(t, rows, row.Key, "two rows")
		rows[row.Key] = row
	}
	for _, want := range settings {
		row, ok := rows[want.Key]
		if !assert.True(t, ok, "%s: no page contains a row for this key", want.Key) {
			continue
		}
		delete(rows, want.Key)
		if other, ok := text[want.Key]; ok {
			assert.NotEqual(t, want.Default, other, "%s: needs no exception", want.Key)
			want.Default = other
		}
		assert.Equal(t, want.Type, row.Type, "%s: type", want.Key)
		assert.Equal(t, want.Default, row.Default, "%s: default", want.Key)
	}
	for key := range rows {
		assert.Fail(t, "a row for a key that does not exist", key)
	}
}

// Given adds the keys of settings to keys, with N for the number of an element.
func Given(prefix string, settings any, keys map[string]bool) {
	switch settings := settings.(type) {
	case map[string]any:
		for key, value := range settings {
			below := strings.TrimPrefix(prefix+"::"+key, "::")
			keys[below] = true
			Given(below, value, keys)
		}
	case []any:
		for _, value := range settings {
			Given(prefix+"::N", value, keys)
		}
	}
}
