// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"fmt"
	"strconv"
	"strings"
)

// Address is a PCI address. The zero Address is invalid: 0000:00:00.0 is the host bridge, which amd-smi prints if it could not read the
// address.
type Address struct {
	Domain, Bus, Device, Function uint32
}

// String returns the address in the form of Info.PCIAddress; empty for none.
func (a Address) String() string {
	if a == (Address{}) {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.Domain, a.Bus, a.Device, a.Function)
}

// GPU returns the address of the physical GPU: the functions number its partitions.
func (a Address) GPU() Address {
	a.Function = 0
	return a
}

// ParseAddress reads domain:bus:device.function. It reports false for what cannot be an address, such as the uninitialised memory that
// amd-smi 24.5.2 prints without access to the DRM device.
func ParseAddress(s string) (Address, bool) {
	parts := strings.Split(strings.TrimSpace(s), ":")
	if len(parts) != 3 {
		return Address{}, false
	}
	device, function, ok := strings.Cut(parts[2], ".")
	if !ok {
		return Address{}, false
	}
	parts = append(parts[:2], device, function)
	var n [4]uint32
	for i, bits := range [...]int{17, 8, 5, 4} { // a domain has 16 bits, or one more behind a controller of its own (VMD)
		v, err := strconv.ParseUint(parts[i], 16, 32)
		if err != nil || v>>bits != 0 {
			return Address{}, false
		}
		n[i] = uint32(v)
	}
	a := Address{Domain: n[0], Bus: n[1], Device: n[2], Function: n[3]}
	return a, a != Address{}
}
