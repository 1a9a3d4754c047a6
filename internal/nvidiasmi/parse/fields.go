// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Field is a quantity of a GPU that is read: from a column of --query-gpu, from elements of -q -x, or from both.
type Field struct {
	// Names are the names under which the column can be queried, the newest first. The heading has the tool's own.
	Names []string
	// Groups are the quantities to which the column belongs. It is zero for a column that is always queried.
	Groups gpu.Group
	// Basic is true if every version since driver 384 has the field, by its last name.
	Basic bool

	quantity string   // in messages
	elements []string // paths in the element of a GPU, with ../ in the element around it
	set      setter
}

// allFields are all quantities. Columns are queried in this order. The GPU's name is the last one, as it is the only text that may contain a comma.
var allFields = slices.Concat(identityFields(), utilizationFields(), thermalFields(), clockFields(), pcieFields(), healthFields(), eccFields(), fabricFields(),
	modeFields(), sessionFields(), []Field{basic("name gpu_name", 0, "product_name", textOf(func(b *builder) *string { return &b.gpu.Device.Model }))})

// Fields returns the columns that are read, in the order in which to query them.
func Fields() []Field {
	return slices.DeleteFunc(slices.Clone(allFields), func(f Field) bool { return len(f.Names) == 0 })
}

// column returns a field of tables, and of XML if it has elements. Names and elements are separated by spaces; the first name is in messages.
func column(names string, groups gpu.Group, elements string, set setter) Field {
	f := Field{Names: strings.Fields(names), Groups: groups, elements: strings.Fields(elements), set: set}
	f.quantity = f.Names[0]
	return f
}

// basic returns a column that every version has.
func basic(names string, groups gpu.Group, elements string, set setter) Field {
	f := column(names, groups, elements, set)
	f.Basic = true
	return f
}

// xmlOnly returns a field that tables do not have.
func xmlOnly(quantity, elements string, set setter) Field {
	return Field{quantity: quantity, elements: strings.Fields(elements), set: set}
}

// called returns the field with another name in messages.
func (f Field) called(quantity string) Field {
	f.quantity = quantity
	return f
}

// read stores a printed value, or notes the text that replaces it.
func (f *Field) read(b *builder, printed []byte) {
	if !f.set(b, printed) {
		b.note(f.quantity, printed)
	}
}
