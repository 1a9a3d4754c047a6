// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"strings"
)

// element is an element of the XML that is known. What is not known is passed over with all that is in it.
type element struct {
	children map[string]*element
	set      setter // of an element that holds text
	open     setter // is given the tag's attributes
	end      setter
	// verbatim: the text is whatever a process calls itself. Some versions do not escape it, so that it ends at the
	// element's own closing tag and nowhere else.
	verbatim bool
}

// XML reads the output of nvidia-smi -q -x. An error means that there is no log in it; a log that ends early is returned
// with Complete false and the GPUs that are whole.
func XML(data []byte) (*Listing, error) {
	data = clean(data)
	start := bytes.Index(data, []byte("<nvidia_smi_log"))
	if start < 0 {
		return nil, fmt.Errorf("no nvidia_smi_log in %d bytes of output, which begins with %q", len(data), quoted(data[:min(len(data), 200)]))
	}
	s := scanner{data: data, pos: start, builder: builder{listing: &Listing{}}}
	s.stack = append(s.stack, frame{element: xmlRoot})
	s.run()
	return s.builder.listing, nil
}

// scanner walks through XML by the simple shape that the tool gives it: no namespaces, no text beside elements. It takes
// what is not well-formed, too, which a library's reader would refuse as a whole.
type scanner struct {
	data    []byte
	pos     int
	stack   []frame
	builder builder
}

// frame is an element that is open.
type frame struct {
	element *element
	name    []byte
	text    int  // where its text begins
	parent  bool // an element was in it
}

func (s *scanner) run() {
	for {
		i := bytes.IndexByte(s.data[s.pos:], '<')
		if i < 0 || s.pos+i+1 >= len(s.data) {
			return
		}
		at := s.pos + i
		switch c := s.data[at+1]; {
		case c == '/':
			s.closeTag(at)
		case c == '!' || c == '?':
			s.declaration(at)
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			s.openTag(at)
		default:
			s.pos = at + 1 // text
		}
		if len(s.stack) == 1 && s.builder.listing.Complete {
			return
		}
	}
}

// openTag reads the tag that begins at at.
func (s *scanner) openTag(at int) {
	end := bytes.IndexByte(s.data[at:], '>')
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	tag := s.data[at+1 : at+end]
	s.pos = at + end + 1
	empty := tag[len(tag)-1] == '/'
	if empty {
		tag = tag[:len(tag)-1]
	}
	name, attributes := tag, []byte(nil)
	if i := bytes.IndexAny(tag, " \t\r\n"); i >= 0 {
		name, attributes = tag[:i], tag[i+1:]
	}
	top := &s.stack[len(s.stack)-1]
	top.parent = true
	e := top.element.children[string(name)]
	switch {
	case e == nil:
		if !empty {
			s.skip(name)
		}
		return
	case e.open != nil:
		e.open(&s.builder, attributes)
	}
	switch {
	case empty:
		if e.set != nil {
			e.set(&s.builder, nil)
		}
		if e.end != nil {
			e.end(&s.builder, nil)
		}
	case e.verbatim:
		s.verbatim(e, name)
	default:
		s.stack = append(s.stack, frame{element: e, name: name, text: s.pos})
	}
}

// verbatim reads the text of the element that was just opened, whatever it holds.
func (s *scanner) verbatim(e *element, name []byte) {
	end := s.find("</", name)
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	e.set(&s.builder, unescape(s.data[s.pos:end]))
	s.pos = end + len(name) + 3
}

// skip passes over the element that was just opened. One of the same name within it is counted.
func (s *scanner) skip(name []byte) {
	for depth := 1; depth > 0; depth-- {
		end := s.find("</", name)
		if end < 0 {
			s.pos = len(s.data)
			return
		}
		inner := s.data[s.pos:end]
		for {
			i := bytes.Index(inner, name)
			if i < 0 {
				break
			}
			after := i + len(name)
			if i > 0 && inner[i-1] == '<' && after < len(inner) && (inner[after] == '>' || inner[after] == ' ') {
				depth++
			}
			inner = inner[after:]
		}
		s.pos = end + len(name) + 3
	}
}

// find returns where prefix, name and > stand next.
func (s *scanner) find(prefix string, name []byte) int {
	from := s.pos
	for {
		i := bytes.Index(s.data[from:], name)
		if i < 0 {
			return -1
		}
		at, after := from+i, from+i+len(name)
		if at-len(prefix) >= s.pos && after < len(s.data) && s.data[after] == '>' && string(s.data[at-len(prefix):at]) == prefix {
			return at - len(prefix)
		}
		from = after
	}
}

// closeTag reads the closing tag that begins at at. One that fits no open element is passed over; what it leaves open in
// between was cut short and counts for nothing.
func (s *scanner) closeTag(at int) {
	end := bytes.IndexByte(s.data[at:], '>')
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	name := bytes.TrimSpace(s.data[at+2 : at+end])
	s.pos = at + end + 1
	for i := len(s.stack) - 1; i > 0; i-- {
		f := s.stack[i]
		if !bytes.Equal(f.name, name) {
			continue
		}
		if i == len(s.stack)-1 {
			s.leave(f, at)
		}
		s.stack = s.stack[:i]
		return
	}
}

// leave ends an element that was closed properly; its text ends at at.
func (s *scanner) leave(f frame, at int) {
	if !f.parent {
		printed := bytes.TrimSpace(unescape(s.data[f.text:at]))
		switch {
		case f.element.set != nil:
			f.element.set(&s.builder, printed)
		case f.element.end == nil:
			s.builder.note(string(f.name), printed) // one reason for all that would be in it
		}
	}
	if f.element.end != nil {
		f.element.end(&s.builder, nil)
	}
}

// declaration passes over a comment, a processing instruction, or what else begins with an exclamation mark. The document type,
// which may hold the whole DTD (--dtd), stands before the root element, where reading begins.
func (s *scanner) declaration(at int) {
	rest := s.data[at:]
	terminator := ">"
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		terminator = "-->"
	case bytes.HasPrefix(rest, []byte("<?")):
		terminator = "?>"
	}
	end := bytes.Index(rest, []byte(terminator))
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	s.pos = at + end + len(terminator)
}

// entities are those that XML predefines; the tool uses no others.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#34;", `"`, "&amp;", "&")

func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '&') < 0 {
		return b
	}
	return []byte(entities.Replace(string(b)))
}
