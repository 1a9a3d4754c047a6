// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// A field that is refused costs no other.
func TestRefusedFieldIsLeftOutAlone(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		if slices.Contains(fields, "temperature.memory") {
			return answer{stdout: "Field \"temperature.memory\" is not a valid field to query.\n\n", exit: 2}
		}
		return table(fields)
	}
	read(t, newReader(t, QueryFast, f, newClock()))
	require.Len(t, f.tables, 2)
	assert.Equal(t, slices.DeleteFunc(f.tables[0], func(n string) bool { return n == "temperature.memory" }), f.tables[1])
}

// The driver was replaced, and its version refuses so much that the basic fields are left: it is asked for its own all the same.
func TestManyRefusalsOfAnotherVersion(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	read(t, r)
	var spellings []string
	for _, field := range parse.Fields() {
		spellings = append(spellings, field.Names...)
	}
	other := tableTool(t, slices.DeleteFunc(spellings, func(n string) bool { return strings.HasPrefix(n, "clocks_event_reasons") }))
	f.help = other.help
	f.table = func(fields []string) answer {
		a := other.table(fields)
		a.stdout = strings.ReplaceAll(a.stdout, "550.1", "560.2")
		return a
	}
	read(t, r)
	assert.NotContains(t, f.tables[len(f.tables)-1], "temperature.memory")
	read(t, r)
	assert.Contains(t, f.tables[len(f.tables)-1], "temperature.memory")
}
