// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"math"
	"strconv"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// readNVLink reads what went over NVLink, in bytes, and its errors: over all links, and over each if single links are wanted.
func readNVLink(dev *device, d *gpu.Device) {
	f, want := dev.fields, dev.cfg.Want
	d.Interconnect.Type = gpu.NVLink
	if want.Has(gpu.GroupInterconnect) {
		d.Interconnect.Transmitted = linksTotal(f, rowNVLinkTransmitted, linkTransmittedKiB, linkTransmitted)
		d.Interconnect.Received = linksTotal(f, rowNVLinkReceived, linkReceivedKiB, linkReceived)
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
func linksTotal(f *fieldValues, total row, kib, plain linkField) gpu.Counter[int64] {
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
	totals []row
	links  []linkField
}{
	{gpu.LinkErrorCRC, []row{rowNVLinkCRCFlit, rowNVLinkCRCData}, []linkField{linkCRC, linkCRCFlit, linkCRCData}},
	{gpu.LinkErrorReplay, []row{rowNVLinkReplay}, []linkField{linkReplay}},
	{gpu.LinkErrorRecovery, []row{rowNVLinkRecovery}, []linkField{linkRecovery}},
	{gpu.LinkErrorECC, []row{rowNVLinkECC}, []linkField{linkECC}},
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

// nvlinkStateFunction is for drivers that have no field for it (before 515).
var nvlinkStateFunction = library.NewFunction("NVLink state", "nvmlDeviceGetNvLinkState")

// readLinkState reads whether a link is up, its speed and its bit errors.
func readLinkState(dev *device, number int, l *gpu.Link) {
	f := dev.fields
	if dev.cfg.Want.Has(gpu.GroupInterconnectState) {
		l.Up = linkUp(dev, number)
	}
	if speed, ok := f.linkCount(number, linkSpeed); ok && speed > 0 { // MB/s in one direction; absent for a link that is down
		l.Bandwidth = gpu.Some(float64(speed) * perMega)
	}
	for kind, quantity := range [gpu.NumBitErrorTypes]linkField{
		gpu.BitErrorEffective: linkEffectiveBER, gpu.BitErrorSymbol: linkSymbolBER,
	} {
		l.BitErrorRatio[kind] = bitErrorRatio(f.linkCount(number, quantity))
	}
	for bin := range l.FEC {
		l.FEC[bin] = count(f.linkCount(number, linkFEC+linkField(bin)))
	}
}

// linkUp reports whether a link is active. One that sleeps (NVML_NVLINK_STATE_SLEEP) is.
func linkUp(dev *device, number int) gpu.Opt[bool] {
	state, ok := dev.fields.linkCount(number, linkState)
	if dev.fields.link(number, linkState).refused && dev.Can(nvlinkStateFunction) {
		active, ret := dev.handle.GetNvLinkState(number)
		state, ok = int64(active), dev.OKAt(nvlinkStateFunction, number, nvlinkStateFunction, library.Code(ret))
	}
	return known(state > 0, ok && state <= 2)
}

// noBitErrors is what the driver returns as long as it has measured no bit errors: all bits of the mantissa and of the exponent.
const noBitErrors = 0xfff

// bitErrorRatio decodes NVML's form of a ratio: the exponent of 10, without its sign, in the lowest 8 bits, and the mantissa in the next 4.
func bitErrorRatio(v int64, ok bool) gpu.Opt[float64] {
	if !ok || v < 0 || v >= noBitErrors {
		return gpu.Opt[float64]{}
	}
	return within(float64(v>>8)*math.Pow10(-int(v&0xff)), true, 0, 1)
}

const nvlinkMaxLinks = 18 // NVML_NVLINK_MAX_LINKS

// nvlinkVersions are the values of nvmlNvlinkVersion_t.
var nvlinkVersions = [...]string{1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}

// nvlinkVersion queries the version of all links in one call, and takes the first: a link that is down may have no version.
func nvlinkVersion(dev *device, into *Identity) library.Code {
	request := make([]library.FieldValue, nvlinkMaxLinks)
	for link := range request {
		request[link].FieldId, request[link].ScopeId = gonvml.FI_DEV_NVLINK_GET_VERSION, uint32(link)
	}
	if code := library.Code(dev.handle.GetFieldValues(request)); code != library.OK {
		return code
	}
	code := library.NotSupported
	for link := range request {
		value := &request[link]
		v, ok := library.Decode(value.ValueType, value.Value)
		switch answer := library.Code(value.NvmlReturn); {
		case answer == library.OK && ok && v.Unsigned > 0:
			into.Info.InterconnectVersion = word(nvlinkVersions[:], int64(min(v.Unsigned, maxMode)))
			return library.OK
		case answer != library.OK && answer.Answer() != library.Unsupported:
			code = answer
		}
	}
	return code
}
