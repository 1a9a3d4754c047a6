// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"strings"
)

// XML reads the output of nvidia-smi -q -x. It returns an error if the output contains no nvidia_smi_log. It returns a log that ends early
// with Complete false and the GPUs that are complete.
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

// scanner reads XML of the simple form that the tool prints: no namespaces, no text beside elements. It does not use encoding/xml because
// the tool's XML is not always well-formed: some versions do not escape the names of processes, and a library would refuse the whole
// document.
type scanner struct {
	data    []byte
	pos     int
	stack   []frame
	builder builder
}

// frame is an open element.
type frame struct {
	element *element
	name    []byte
	text    int  // position of the start of its text
	parent  bool // it contains an element
}

func (s *scanner) run() {
	for {
		i := bytes.IndexByte(s.data[s.pos:], '<')
		if i < 0 || s.pos+i+1 >= len(s.data) {
			return
		}
		start := s.pos + i
		switch c := s.data[start+1]; {
		case c == '/':
			s.closeTag(start)
		case c == '!' || c == '?':
			s.declaration(start)
		case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			s.openTag(start)
		default:
			s.pos = start + 1 // text
		}
		if len(s.stack) == 1 && s.builder.listing.Complete {
			return
		}
	}
}

// openTag reads the opening tag at a position.
func (s *scanner) openTag(start int) {
	end := bytes.IndexByte(s.data[start:], '>')
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	tag := s.data[start+1 : start+end]
	s.pos = start + end + 1
	tag, empty := bytes.CutSuffix(tag, []byte{'/'})
	name, attributes := tag, []byte(nil)
	if i := bytes.IndexAny(tag, " \t\r\n"); i >= 0 {
		name, attributes = tag[:i], tag[i+1:]
	}
	top := &s.stack[len(s.stack)-1]
	top.parent = true
	e := top.element.children[string(name)]
	if e == nil {
		if !empty {
			s.skip(name)
		}
		return
	}
	if e.open != nil {
		e.open(&s.builder, attributes)
	}
	switch {
	case empty:
		if e.field != nil {
			e.field.read(&s.builder, nil)
		}
		if e.end != nil {
			e.end(&s.builder)
		}
	case e.verbatim:
		s.verbatim(e, name)
	default:
		s.stack = append(s.stack, frame{element: e, name: name, text: s.pos})
	}
}

// verbatim reads the text of the element that was just opened, whatever it contains.
func (s *scanner) verbatim(e *element, name []byte) {
	if text, ok := s.untilClosed(name); ok {
		e.field.read(&s.builder, unescape(text))
	}
}

// skip skips the element that was just opened, including elements of the same name within it.
func (s *scanner) skip(name []byte) {
	for depth := 1; depth > 0; depth-- {
		inner, ok := s.untilClosed(name)
		if !ok {
			return
		}
		depth += bytes.Count(inner, []byte("<"+string(name)+">")) + bytes.Count(inner, []byte("<"+string(name)+" "))
	}
}

// untilClosed returns the text before the next closing tag of a name and continues after it. Without such a tag it continues at the end of
// the data.
func (s *scanner) untilClosed(name []byte) (inner []byte, ok bool) {
	inner, rest, ok := bytes.Cut(s.data[s.pos:], []byte("</"+string(name)+">"))
	s.pos = len(s.data) - len(rest)
	return inner, ok
}

// closeTag reads the closing tag at a position. It ignores one that belongs to no open element. Elements that are still open
// within the closed one were cut short: they and the closed one do not count.
func (s *scanner) closeTag(start int) {
	end := bytes.IndexByte(s.data[start:], '>')
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	name := bytes.TrimSpace(s.data[start+2 : start+end])
	s.pos = start + end + 1
	for i := len(s.stack) - 1; i > 0; i-- {
		f := s.stack[i]
		if !bytes.Equal(f.name, name) {
			continue
		}
		if i == len(s.stack)-1 {
			s.leave(f, start)
		}
		s.stack = s.stack[:i]
		return
	}
}

// leave ends an element that was closed properly. Its text ends at a position.
func (s *scanner) leave(f frame, end int) {
	if !f.parent {
		printed := bytes.TrimSpace(unescape(s.data[f.text:end]))
		switch {
		case f.element.field != nil:
			f.element.field.read(&s.builder, printed)
		case f.element.end == nil:
			s.builder.note(string(f.name), printed) // one reason for all values that would be in the element
		}
	}
	if f.element.end != nil {
		f.element.end(&s.builder)
	}
}

// declaration skips a comment, a processing instruction, or anything else that starts with an exclamation mark. The document type, which
// may contain the whole DTD (--dtd), is before the root element and is not read.
func (s *scanner) declaration(start int) {
	terminator := ">"
	switch rest := s.data[start:]; {
	case bytes.HasPrefix(rest, []byte("<!--")):
		terminator = "-->"
	case bytes.HasPrefix(rest, []byte("<?")):
		terminator = "?>"
	}
	end := bytes.Index(s.data[start:], []byte(terminator))
	if end < 0 {
		s.pos = len(s.data)
		return
	}
	s.pos = start + end + len(terminator)
}

// entities are those that XML predefines. The tool uses no others.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#39;", "'", "&#34;", `"`, "&amp;", "&")

func unescape(b []byte) []byte { return []byte(entities.Replace(string(b))) }
