// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// fieldValue is one field of one device: its number, whether to read it, and its value.
type fieldValue struct {
	name       string
	candidates []fieldID
	used       int  // the candidate in use
	unless     int  // the field that makes this one useless if it is supported; -1: none
	needed     bool // a metric needs it
	refused    bool // no candidate is supported
	constant   bool // it is read until it was answered
	seldom     bool // and then again when kept values are renewed
	retry      library.Retry
	ambiguous  ambiguous

	zero       bool // a total that was 0 when it was last answered, so that the links are worth asking for
	distrusted bool // a total that was 0 while its links counted: it is their sum from then on

	requested bool // in this read
	ok        bool // answered in this read
	value     library.Value
}

// fieldValues is what one call of nvmlDeviceGetFieldValues reads of a device. Which candidates a device supports is found out once.
type fieldValues struct {
	calls  *library.Calls
	want   gpu.Group
	fields []fieldValue // one for each of quantityRows, then the quantities of links
	links  int
	// firstLink is the start of a quantity of links in fields; 0 if it is not wanted.
	firstLink [numLinkFields]int
	noRows    bool // the architecture retires pages instead of remapping rows
}

func newFieldValues(c *library.Calls, want gpu.Group, driver string) *fieldValues {
	s := &fieldValues{calls: c, want: want, fields: make([]fieldValue, len(quantityRows))}
	for i := range s.fields {
		q := &quantityRows[i]
		f := fieldValue{
			name: q.name, candidates: q.fields, unless: -1,
			needed: want.Has(q.group), refused: len(q.fields) == 0, constant: q.constant || q.seldom, seldom: q.seldom,
		}
		if q.of575 != nil && strings.HasPrefix(driver, "575.") {
			f.candidates = q.of575
		} else if q.of575 != nil {
			f.ambiguous.candidate = len(f.candidates)
			f.candidates = append(slices.Clone(f.candidates), q.of575[0])
		}
		if q.retires {
			f.unless = int(rowRemappedCorrected)
		}
		s.fields[i] = f
	}
	return s
}

// begin starts a read. renewed: what seldom changes is asked for.
func (s *fieldValues) begin(renewed bool) {
	for i := range s.fields {
		f := &s.fields[i]
		f.retry.Begin()
		f.requested = false
		f.ok = f.ok && f.constant && (!f.seldom || !renewed)
	}
}

// request returns the fields that were not read in this read yet.
func (s *fieldValues) request() (fields []int) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.needed && !f.refused && !f.requested && (!f.constant || !f.ok) && !f.retry.Skipped() && s.useful(f) {
			fields = append(fields, i)
		}
	}
	return fields
}

// useful reports whether nothing makes a field useless.
func (s *fieldValues) useful(f *fieldValue) bool {
	return f.unless < 0 || s.fields[f.unless].refused || s.fields[f.unless].zero
}

// dropRows disables the remapped-row fields.
func (s *fieldValues) dropRows() {
	s.noRows = true
	for f := rowRemappedCorrected; f <= rowRemappedFailure; f++ {
		s.fields[f].refused = true
	}
}

func (s *fieldValues) id(i int) fieldID {
	f := &s.fields[i]
	return f.candidates[f.used]
}

// set notes the answer for a field.
func (s *fieldValues) set(i int, code library.Code, kind uint32, raw [8]byte) {
	f := &s.fields[i]
	if code.Answer() == library.Unsupported && f.used+1 < len(f.candidates) {
		f.used++ // and read again in this read
		return
	}
	f.requested = true
	if s.calls.Note(row(i), f.name, getFieldValues.Symbol(), code, &f.retry, &f.refused) {
		f.value, f.ok = library.Decode(kind, raw)
		if f.used == f.ambiguous.candidate && f.used > 0 {
			f.ok = f.ok && f.ambiguous.isTime(kind, f.value)
		}
		switch row(i) {
		case rowNVLinkTransmitted, rowNVLinkReceived:
			f.zero = f.distrusted || f.ok && f.value.Unsigned == 0
		case rowPCIeTransmitted, rowPCIeReceived:
			f.refused = kind == library.TypeUnsignedInt // a busy link fills 32 bits several times a second
		}
	}
}

var getFieldValues = library.NewFunction("fields", "nvmlDeviceGetFieldValues")

// addLinks adds the fields of each link that are needed once the number of links is known. It adds bytes and errors if single links are
// wanted, or if the device lacks a total. A GPU with 18 links has 180 of these.
func (s *fieldValues) addLinks() {
	n, ok := s.get(rowLinkCount)
	if !ok || n.Unsigned == 0 {
		return
	}
	s.links = int(min(n.Unsigned, maxLinks))
	single := s.want.Has(gpu.GroupInterconnectLinks)
	counters := single || s.lacksTotal()
	for quantity := range linkSpecs {
		spec := &linkSpecs[quantity]
		if s.firstLink[quantity] == 0 && (s.want.Has(spec.group) || spec.group == 0 && counters) {
			s.addLinkField(linkField(quantity), single)
		}
	}
}

func (s *fieldValues) addLinkField(quantity linkField, single bool) {
	spec := &linkSpecs[quantity]
	s.firstLink[quantity] = len(s.fields)
	for link := range s.links {
		f := fieldValue{name: spec.name, candidates: spec.candidates(link), unless: -1, needed: true}
		switch {
		case spec.instead:
			f.unless = s.firstLink[spec.preferred] + link
		case spec.group == 0 && !single:
			f.unless = int(spec.total)
		}
		f.refused = len(f.candidates) == 0
		s.fields = append(s.fields, f)
	}
}

// lacksTotal reports whether the device is known to have no total, or 0, of something that its links may have.
func (s *fieldValues) lacksTotal() bool {
	return slices.ContainsFunc(linkSpecs[:], func(spec linkSpec) bool {
		return spec.group == 0 && !spec.instead && (s.lacks(spec.total) || s.fields[spec.total].zero)
	})
}

// totalOr returns a total, which was read as n, or the sum over the links if the device has no total. Some drivers leave a total at 0 while
// the links count: the sum replaces it then, and goes on doing so, because a total that starts to count later is smaller.
func (s *fieldValues) totalOr(total row, n int64, ok bool, links func() (int64, bool)) (int64, bool) {
	f := &s.fields[total]
	switch {
	case f.distrusted:
	case ok && n > 0:
		return n, true
	case !ok && !s.lacks(total):
		return 0, false
	}
	sum, known := links()
	f.distrusted = f.distrusted || ok && known && sum > 0
	if !known && !f.distrusted {
		return n, ok
	}
	return sum, known
}

// get returns the value of a field in this read.
func (s *fieldValues) get(f row) (library.Value, bool) {
	return s.fields[f].value, s.fields[f].ok
}

// count is get for a count.
func (s *fieldValues) count(f row) (int64, bool) {
	if !s.fields[f].ok {
		return 0, false
	}
	return s.fields[f].value.Count()
}

// lacks reports whether the device is known not to have a field, so that another way of reading it is worth a call.
func (s *fieldValues) lacks(f row) bool {
	return s.fields[f].refused || !s.calls.Supported(getFieldValues)
}

// link returns a quantity of a link; one that is not wanted is refused.
func (s *fieldValues) link(link int, f linkField) *fieldValue {
	if s.firstLink[f] == 0 {
		return &fieldValue{refused: true}
	}
	return &s.fields[s.firstLink[f]+link]
}

// linkCount returns a count of a link.
func (s *fieldValues) linkCount(link int, f linkField) (int64, bool) {
	v := s.link(link, f)
	n, ok := v.value.Count()
	return n, ok && v.ok
}

// sum adds a quantity up over the links. The sum is known if every link that has the quantity answered.
func (s *fieldValues) sum(f linkField) (sum int64, ok bool) {
	for link := range s.links {
		if s.link(link, f).refused {
			continue
		}
		n, fits := s.linkCount(link, f)
		if !fits {
			return 0, false
		}
		sum, ok = sum+n, true
	}
	return sum, ok
}

// maxFieldRequests bounds the calls of a read: one, and more only while quantities turn out to be in other fields.
const maxFieldRequests = 8

// readFieldValues asks for all fields in one call.
func readFieldValues(dev *device, _ *gpu.Device) {
	for range maxFieldRequests {
		fields := dev.fields.request()
		if len(fields) == 0 || !dev.Can(getFieldValues) {
			return
		}
		request := make([]library.FieldValue, len(fields))
		for n, i := range fields {
			id := dev.fields.id(i)
			request[n].FieldId, request[n].ScopeId = id.id, id.scope
		}
		if !dev.OKUncounted(getFieldValues, library.Code(dev.handle.GetFieldValues(request))) {
			return
		}
		for n := range request {
			v := &request[n]
			dev.fields.set(fields[n], library.Code(v.NvmlReturn), v.ValueType, v.Value)
		}
		dev.fields.addLinks()
	}
}
