// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "strings"

// element is an XML element that is read. The scanner skips every other element with all that it contains.
type element struct {
	children map[string]*element
	field    *Field                              // of an element that contains text
	open     func(b *builder, attributes []byte) // called with the attributes of the opening tag
	end      func(b *builder)                    // called at the closing tag
	// verbatim is true if the text is the name that a process gives itself. Some versions of the tool do not escape it, so it ends at the
	// element's own closing tag and nowhere else.
	verbatim bool
}

// descend returns the element at a path, which it adds if it is missing.
func (e *element) descend(path string) *element {
	for name := range strings.SplitSeq(path, "/") {
		child := e.children[name]
		if child == nil {
			child = &element{children: map[string]*element{}}
			e.children[name] = child
		}
		e = child
	}
	return e
}

// add adds the elements of fields.
func (e *element) add(fields []Field) {
	for i := range fields {
		for _, path := range fields[i].elements {
			e.descend(path).field = &fields[i]
		}
	}
}
