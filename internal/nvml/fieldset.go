// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// entry is one field of one device: where it is found, whether it is worth asking for, and what it holds.
type entry struct {
	what       string
	candidates []ask
	at         int  // the candidate in use
	unless     int  // the entry that makes this one pointless where it is supported; -1: none
	wanted     bool // something that is sent needs it
	never      bool // no candidate is supported
	once       bool // it does not change: asked until it was answered
	trouble    trouble

	asked bool // in this read
	ok    bool // answered in this read
	value value
}

// fieldSet is all that is asked of a device in one call. Which candidates a device supports is found out once.
type fieldSet struct {
	calls   *calls
	want    gpu.Group
	entries []entry // numFields, then numLinkFields for each link
	links   int
	plan    []int // entries in the request
	asked   []int // entries that were asked for in this read
	changed bool  // what to ask for has to be found out anew
	skipped int   // entries that are left alone for a while
}

func newFieldSet(c *calls, want gpu.Group, driver string) fieldSet {
	s := fieldSet{calls: c, want: want, entries: make([]entry, numFields), changed: true}
	for i := range s.entries {
		spec := &fieldSpecs[i]
		s.entries[i] = entry{what: spec.what, candidates: spec.candidates, unless: -1, wanted: want.Has(spec.group)}
		if other := candidatesOf575[field(i)]; other != nil && strings.HasPrefix(driver, "575.") {
			s.entries[i].candidates = other
		}
		if spec.unless != field(i) {
			s.entries[i].unless = int(spec.unless)
		}
	}
	s.entries[fieldLinkCount].once = true
	return s
}

// begin starts a read.
func (s *fieldSet) begin() {
	for _, i := range s.asked {
		e := &s.entries[i]
		e.asked = false
		e.ok = e.ok && e.once
	}
	s.asked = s.asked[:0]
	if s.skipped > 0 {
		s.skipped = 0
		for i := range s.entries {
			s.entries[i].trouble.begin()
			if s.entries[i].trouble.skip > 0 {
				s.skipped++
			}
		}
		s.changed = true
	}
}

// next plans a request: every entry that is worth asking for and was not asked in this read. Empty: there is none left.
func (s *fieldSet) next() []int {
	if !s.calls.can(fnFields) || (len(s.asked) > 0 && !s.changed) {
		return nil
	}
	if s.changed {
		s.changed = false
		s.plan = s.plan[:0]
		for i := range s.entries {
			if s.worthwhile(i) {
				s.plan = append(s.plan, i)
			}
		}
		if len(s.asked) > 0 {
			s.changed = true // it is the plan of this round alone
		}
	}
	return s.plan
}

func (s *fieldSet) worthwhile(i int) bool {
	e := &s.entries[i]
	return e.wanted && !e.never && !e.asked && (!e.once || !e.ok) && e.trouble.skip == 0 &&
		(e.unless < 0 || s.entries[e.unless].never)
}

func (s *fieldSet) ask(i int) ask {
	e := &s.entries[i]
	return e.candidates[e.at]
}

// take notes what an entry's field returned.
func (s *fieldSet) take(i int, ret code, kind uint32, raw [8]byte) {
	e := &s.entries[i]
	if ret.answer() == never && e.at+1 < len(e.candidates) {
		e.at++ // and asked again in this read
		s.changed = true
		return
	}
	e.asked = true
	s.asked = append(s.asked, i)
	s.changed = s.changed || e.once
	if ret != codeOK || e.trouble.noted {
		ok := s.calls.take(int(numFunctions)+i, e.what, "nvmlDeviceGetFieldValues", ret, &e.trouble, &e.never)
		s.changed = s.changed || e.never
		if e.trouble.skip > 0 {
			s.skipped++
			s.changed = true
		}
		if !ok {
			return
		}
	}
	e.value, e.ok = decode(kind, raw)
}

// linked adds the entries of the links, once it is known how many there are and that one by one they will be asked: where
// single links are wanted, or the device has no total of something. There are 180 of them for a GPU with 18 links.
func (s *fieldSet) linked() {
	n, ok := s.get(fieldLinkCount)
	single := s.want.Has(gpu.GroupInterconnectLinks)
	if !ok || s.links > 0 || n.unsigned == 0 || !single && !s.lacksTotal() {
		return
	}
	s.links = int(min(n.unsigned, mostLinks))
	s.changed = true
	s.entries = slices.Grow(s.entries, s.links*int(numLinkFields))
	for link := range s.links {
		base := len(s.entries)
		for f := range linkSpecs {
			spec := &linkSpecs[f]
			e := entry{what: spec.what, candidates: spec.candidates(link), unless: -1, wanted: true}
			switch {
			case spec.instead:
				e.unless = base + int(spec.after)
			case !single:
				e.unless = int(spec.total)
			}
			e.never = len(e.candidates) == 0
			s.entries = append(s.entries, e)
		}
	}
}

// lacksTotal tells whether the device is known to have no total of something that its links may have.
func (s *fieldSet) lacksTotal() bool {
	return slices.ContainsFunc(linkSpecs[:], func(spec linkSpec) bool { return !spec.instead && s.lacks(spec.total) })
}

// get returns what a field held in this read.
func (s *fieldSet) get(f field) (value, bool) {
	e := &s.entries[f]
	return e.value, e.ok
}

// lacks tells whether the device is known not to have a field, so that another way of reading it is worth a call.
func (s *fieldSet) lacks(f field) bool {
	return s.entries[f].never || !s.calls.supported(fnFields)
}

func (s *fieldSet) link(link int, f linkField) *entry {
	return &s.entries[int(numFields)+link*int(numLinkFields)+int(f)]
}

// sum adds a quantity up over the links; the sum is known where every link that has the quantity answered.
func (s *fieldSet) sum(f linkField) (total int64, ok bool) {
	for link := range s.links {
		e := s.link(link, f)
		if e.never {
			continue
		}
		n, fits := e.value.total()
		if !e.ok || !fits {
			return 0, false
		}
		total, ok = total+n, true
	}
	return total, ok
}

func (s *fieldSet) total(f field) (int64, bool) {
	e := &s.entries[f]
	if !e.ok {
		return 0, false
	}
	return e.value.total()
}
