// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readInterconnect reads what went over NVLink: over all links, and over each where single links are wanted.
func (b *board) readInterconnect(d *gpu.Device) {
	f := &b.fields
	d.Interconnect.Type = gpu.NVLink
	if b.src.want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Transmitted = linkTotal(f, fieldNVLinkTransmitted, linkTransmittedKiB, linkTransmitted)
		d.Interconnect.Received = linkTotal(f, fieldNVLinkReceived, linkReceivedKiB, linkReceived)
	}
	if b.src.want.Has(gpu.GroupInterconnectErrors) {
		d.Errors = appendLinkErrors(d.Errors, f)
	}
	if b.src.want.Has(gpu.GroupInterconnectLinks) {
		for link := range f.links {
			d.Interconnect.Links = appendLink(d.Interconnect.Links, f, link)
		}
	}
}

func linkTotal(f *fieldSet, total field, kib, plain linkField) gpu.Counter[int64] {
	if n, ok := f.total(total); ok {
		return gpu.Total(n * bytesPerKiB)
	}
	if !f.lacks(total) {
		return gpu.Counter[int64]{}
	}
	if n, ok := f.sum(kib); ok {
		return gpu.Total(n * bytesPerKiB)
	}
	return counted(f.sum(plain))
}

// linkErrors are the kinds of NVLink errors: totals, else sums over the links.
var linkErrors = [...]struct {
	kind   gpu.ErrorType
	totals []field
	links  []linkField
}{
	{gpu.ErrorLinkCRC, []field{fieldNVLinkCRCFlit, fieldNVLinkCRCData}, []linkField{linkCRC, linkCRCFlit, linkCRCData}},
	{gpu.ErrorLinkReplay, []field{fieldNVLinkReplay}, []linkField{linkReplay}},
	{gpu.ErrorLinkRecovery, []field{fieldNVLinkRecovery}, []linkField{linkRecovery}},
	{gpu.ErrorLinkECC, []field{fieldNVLinkECC}, []linkField{linkECC}},
}

func appendLinkErrors(errors []gpu.ErrorCount, f *fieldSet) []gpu.ErrorCount {
	for i := range linkErrors {
		e := &linkErrors[i]
		var sum int64
		found := false
		for _, t := range e.totals {
			if n, ok := f.total(t); ok {
				sum, found = sum+n, true
			}
		}
		if !found && f.lacks(e.totals[0]) {
			for _, l := range e.links {
				if n, ok := f.sum(l); ok {
					sum, found = sum+n, true
				}
			}
		}
		if found {
			errors = append(errors, gpu.ErrorCount{Type: e.kind, Count: gpu.Total(sum)})
		}
	}
	return errors
}

// appendLink adds a link that told anything of itself.
func appendLink(links []gpu.Link, f *fieldSet, n int) []gpu.Link {
	if len(links) < cap(links) {
		links = links[:len(links)+1]
	} else {
		links = append(links, gpu.Link{})
	}
	l := &links[len(links)-1]
	*l = gpu.Link{Name: linkName(n), Errors: l.Errors[:0]}
	bytesOf := func(kib, plain linkField) gpu.Counter[int64] {
		if e := f.link(n, kib); e.ok {
			v, ok := e.value.total()
			return counted(v*bytesPerKiB, ok)
		}
		if e := f.link(n, plain); e.ok {
			return counted(e.value.total())
		}
		return gpu.Counter[int64]{}
	}
	l.Transmitted = bytesOf(linkTransmittedKiB, linkTransmitted)
	l.Received = bytesOf(linkReceivedKiB, linkReceived)
	for i := range linkErrors {
		var sum int64
		found := false
		for _, k := range linkErrors[i].links {
			if e := f.link(n, k); e.ok {
				if v, ok := e.value.total(); ok {
					sum, found = sum+v, true
				}
			}
		}
		if found {
			l.Errors = append(l.Errors, gpu.ErrorCount{Type: linkErrors[i].kind, Count: gpu.Total(sum)})
		}
	}
	if !l.Transmitted.Known() && !l.Received.Known() && len(l.Errors) == 0 {
		return links[:len(links)-1]
	}
	return links
}

var linkNames = func() (names [mostLinks]string) {
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}()

func linkName(i int) string { return linkNames[i] }
