// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readNVLink reads what went over NVLink, in bytes, and its errors: over all links, and over each if single links are wanted.
func readNVLink(dev *device, d *gpu.Device) {
	f, want := dev.fields, dev.cfg.Want
	d.Interconnect.Type = gpu.NVLink
	if want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Transmitted = linksTotal(f, fieldNVLinkTransmitted, linkTransmittedKiB, linkTransmitted)
		d.Interconnect.Received = linksTotal(f, fieldNVLinkReceived, linkReceivedKiB, linkReceived)
	}
	if want.Has(gpu.GroupInterconnectErrors) {
		d.Interconnect.Errors = readLinkErrors(f)
	}
	for i := range f.links {
		link := gpu.Link{Name: strconv.Itoa(i)}
		if want.Has(gpu.GroupInterconnectLinks) {
			readLinkCounters(f, i, &link)
		}
		readLinkState(dev, i, &link)
		if empty := (gpu.Link{Name: link.Name}); link != empty {
			d.Interconnect.Links = append(d.Interconnect.Links, link)
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

// linkErrors are the kinds of NVLink errors: totals, if the device has them, else sums over the links.
var linkErrors = [...]struct {
	kind   gpu.LinkErrorType
	totals []field
	links  []linkField
}{
	{gpu.LinkErrorCRC, []field{fieldNVLinkCRCFlit, fieldNVLinkCRCData}, []linkField{linkCRC, linkCRCFlit, linkCRCData}},
	{gpu.LinkErrorReplay, []field{fieldNVLinkReplay}, []linkField{linkReplay}},
	{gpu.LinkErrorRecovery, []field{fieldNVLinkRecovery}, []linkField{linkRecovery}},
	{gpu.LinkErrorECC, []field{fieldNVLinkECC}, []linkField{linkECC}},
	{gpu.LinkErrorMalformedPacket, nil, []linkField{linkMalformedPackets}},
	{gpu.LinkErrorBufferOverrun, nil, []linkField{linkBufferOverruns}},
	{gpu.LinkErrorReceive, nil, []linkField{linkReceiveErrors}},
	{gpu.LinkErrorReceiveRemote, nil, []linkField{linkReceiveRemoteErrors}},
	{gpu.LinkErrorReceiveGeneral, nil, []linkField{linkReceiveGeneralErrors}},
	{gpu.LinkErrorLocalLinkIntegrity, nil, []linkField{linkIntegrityErrors}},
	{gpu.LinkErrorTransmitDiscard, nil, []linkField{linkTransmitDiscards}},
	{gpu.LinkErrorRecoveryFailed, nil, []linkField{linkRecoveriesFailed}},
	{gpu.LinkErrorEffective, nil, []linkField{linkEffectiveErrors}},
	{gpu.LinkErrorSymbol, nil, []linkField{linkSymbolErrors}},
}

func readLinkErrors(f *fieldValues) (errors [gpu.NumLinkErrorTypes]gpu.Counter[int64]) {
	for i := range linkErrors {
		e := &linkErrors[i]
		overLinks := func() (int64, bool) { return addUp(e.links, f.sum) }
		if e.totals == nil {
			errors[e.kind] = count(overLinks())
			continue
		}
		n, ok := addUp(e.totals, f.count)
		errors[e.kind] = count(f.totalOr(e.totals[0], n, ok, overLinks))
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

// readLinkCounters reads what went over one link, in bytes, and its errors.
func readLinkCounters(f *fieldValues, link int, l *gpu.Link) {
	read := func(quantity linkField) (int64, bool) { return f.linkCount(link, quantity) }
	bytesOf := func(kib, plain linkField) gpu.Counter[int64] {
		if f.link(link, kib).ok {
			n, ok := read(kib)
			return count(n*bytesPerKiB, ok)
		}
		return count(read(plain))
	}
	l.Transmitted = bytesOf(linkTransmittedKiB, linkTransmitted)
	l.Received = bytesOf(linkReceivedKiB, linkReceived)
	for i := range linkErrors {
		l.Errors[linkErrors[i].kind] = count(addUp(linkErrors[i].links, read))
	}
}
