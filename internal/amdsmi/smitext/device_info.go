// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Model returns the first of several texts that is the name of a model. Without the PCI id list the tools print the number of the vendor or
// the device instead.
func Model(candidates ...string) string {
	for _, c := range candidates {
		if c = Label(c); c != "" && !strings.HasPrefix(c, "0x") {
			return c
		}
	}
	return ""
}

// Serial returns a serial number; empty if all its digits are 0, as in a device without one.
func Serial(s string) string {
	s = Label(s)
	if strings.Trim(strings.TrimPrefix(s, "0x"), "0") == "" {
		return ""
	}
	return s
}

// DriverVersion returns the version of the amdgpu module. For the module of the kernel amd-smi prints /proc/version without its blanks:
// "Linuxversion6.8.0-79-generic(buildd@…".
func DriverVersion(s string) string {
	s = Label(s)
	rest, ok := strings.CutPrefix(s, "Linux")
	if !ok {
		return s
	}
	rest = strings.TrimSpace(rest)
	if rest, ok = strings.CutPrefix(rest, "version"); !ok {
		return s
	}
	rest = strings.TrimSpace(rest)
	if end := strings.IndexAny(rest, " ("); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// GFXTarget returns the compute target, such as gfx942. If the middle part of the version is 0, rocm-smi 6 prints the last part as two
// decimal digits: gfx9010 for gfx90a, gfx11003 for gfx1103.
func GFXTarget(s string) string {
	s = strings.ToLower(Label(s))
	digits, ok := strings.CutPrefix(s, "gfx")
	if !ok || len(digits) < 3 || len(digits) > 5 || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	middle := len(digits) - 3
	if digits[middle] == '0' && (middle == 2 || middle == 1 && digits[0] == '9') {
		if n, err := strconv.ParseUint(digits[middle+1:], 10, 8); err == nil && n < 16 {
			return "gfx" + digits[:middle+1] + strconv.FormatUint(n, 16)
		}
	}
	return s
}

// NUMANode returns the NUMA node that a device is attached to. The kernel reports -1 if there is no node, which the tools also print as an
// unsigned number of 16 or 32 bits. rocm-smi's "Numa Node" is another quantity: the nearest node with a processor.
func NUMANode(v any) gpu.Opt[int64] {
	node := Whole(Quantity(v, Count, ""))
	if n, ok := node.Get(); !ok || n >= 1<<15-1 {
		return gpu.Opt[int64]{}
	}
	return node
}

// PowerCap returns the power limit in watts. 0 is absent: an APU and the second die of an MI250 have no limit of their own.
func PowerCap(v any) gpu.Opt[float64] {
	limit := Quantity(v, Watts, "W")
	if limit == gpu.Some(0.0) {
		return gpu.Opt[float64]{}
	}
	return limit
}

// Fans returns the fan of a device. The tools show one. nil if neither its speed nor its share of the highest speed is known.
func Fans(ratio, speed any) []gpu.Fan {
	fan := gpu.Fan{Location: "fan0", Ratio: Quantity(ratio, Ratio, "%"), Speed: Whole(Quantity(speed, Revolutions, "RPM"))}
	if !fan.Ratio.Known() && !fan.Speed.Known() {
		return nil
	}
	return []gpu.Fan{fan}
}
