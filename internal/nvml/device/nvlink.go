// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"slices"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readNVLink reads what went over NVLink, in bytes, and its errors: over all links, and over each where single links are wanted.
func readNVLink(dev *device, d *gpu.Device) {
	f := dev.fields
	d.Interconnect.Type = gpu.NVLink
	if dev.cfg.Want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Transmitted = linksTotal(f, fieldNVLinkTransmitted, linkTransmittedKiB, linkTransmitted)
		d.Interconnect.Received = linksTotal(f, fieldNVLinkReceived, linkReceivedKiB, linkReceived)
	}
	if dev.cfg.Want.Has(gpu.GroupInterconnectErrors) {
		d.Interconnect.Errors = readLinkErrors(f)
	}
	if dev.cfg.Want.Has(gpu.GroupInterconnectLinks) {
		for i := range f.links {
			if link := readLink(f, i); link.Transmitted.Known() || link.Received.Known() || slices.ContainsFunc(link.Errors[:], gpu.Counter[int64].Known) {
				d.Interconnect.Links = append(d.Interconnect.Links, link)
			}
		}
	}
}

// linksTotal returns a total in KiB, else the sum over the links, which have it in KiB or in bytes.
func linksTotal(f *fieldValues, total field, kib, plain linkField) gpu.Counter[int64] {
	n, ok := f.count(total)
	return count(f.totalOr(total, n*bytesPerKiB, ok, func() (int64, bool) {
		if n, ok := f.sum(kib); ok {
			return n * bytesPerKiB, true
		}
		return f.sum(plain)
	}))
}

// linkErrors are the kinds of NVLink errors: totals, else sums over the links.
var linkErrors = [...]struct {
	kind   gpu.LinkErrorType
	totals []field
	links  []linkField
}{
	{gpu.LinkErrorCRC, []field{fieldNVLinkCRCFlit, fieldNVLinkCRCData}, []linkField{linkCRC, linkCRCFlit, linkCRCData}},
	{gpu.LinkErrorReplay, []field{fieldNVLinkReplay}, []linkField{linkReplay}},
	{gpu.LinkErrorRecovery, []field{fieldNVLinkRecovery}, []linkField{linkRecovery}},
	{gpu.LinkErrorECC, []field{fieldNVLinkECC}, []linkField{linkECC}},
}

func readLinkErrors(f *fieldValues) (errors [gpu.NumLinkErrorTypes]gpu.Counter[int64]) {
	for i := range linkErrors {
		e := &linkErrors[i]
		n, ok := addUp(e.totals, f.count)
		errors[e.kind] = count(f.totalOr(e.totals[0], n, ok, func() (int64, bool) { return addUp(e.links, f.sum) }))
	}
	return errors
}

// addUp adds those up that are known.
func addUp[F any](fields []F, read func(F) (int64, bool)) (sum int64, found bool) {
	for _, f := range fields {
		if n, ok := read(f); ok {
			sum, found = sum+n, true
		}
	}
	return sum, found
}

func readLink(f *fieldValues, link int) gpu.Link {
	read := func(quantity linkField) (int64, bool) {
		v := f.link(link, quantity)
		n, ok := v.value.Count()
		return n, ok && v.ok
	}
	bytesOf := func(kib, plain linkField) gpu.Counter[int64] {
		if f.link(link, kib).ok {
			n, ok := read(kib)
			return count(n*bytesPerKiB, ok)
		}
		return count(read(plain))
	}
	l := gpu.Link{
		Name:        strconv.Itoa(link),
		Transmitted: bytesOf(linkTransmittedKiB, linkTransmitted),
		Received:    bytesOf(linkReceivedKiB, linkReceived),
	}
	for i := range linkErrors {
		l.Errors[linkErrors[i].kind] = count(addUp(linkErrors[i].links, read))
	}
	return l
}
