// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

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
