// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "maps"

// element is an XML element that is read. The scanner skips every other element with all that it contains.
type element struct {
	children map[string]*element
	set      setter // of an element that contains text
	open     setter // receives the attributes of the opening tag
	end      setter // receives nothing
	// verbatim is true if the text is the name that a process gives itself. Some versions of the tool do not escape it, so it ends at the
	// element's own closing tag and nowhere else.
	verbatim bool
}

func leaf(set setter) *element                     { return &element{set: set} }
func branch(children map[string]*element) *element { return &element{children: children} }

func merge(parts ...map[string]*element) map[string]*element {
	all := map[string]*element{}
	for _, m := range parts {
		maps.Copy(all, m)
	}
	return all
}
