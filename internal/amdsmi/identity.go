// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// uniqueID brings the driver's unique_id to the form of hw.id: 16 lower-case hexadecimal digits without 0x. rocm-smi
// prints it as 0x2150e7d042a1124, without leading zeros, or in ROCm 3 as 249220e172fc1a88. It returns the empty string
// for one that was not read, which the tools print as N/A, 0x0 or all ones.
func uniqueID(s string) string {
	id, ok := parseUniqueID(s)
	if !ok {
		return ""
	}
	return formatUniqueID(id)
}

func formatUniqueID(id uint64) string { return fmt.Sprintf("%016x", id) }

func parseUniqueID(s string) (uint64, bool) {
	s = strings.ToLower(label(s))
	s = strings.TrimPrefix(s, "0x")
	if s == "" || len(s) > 16 {
		return 0, false
	}
	id, err := strconv.ParseUint(s, 16, 64)
	return id, err == nil && id != 0 && id != math.MaxUint64
}

// asicSerial takes the unique_id from amd-smi's asic.asic_serial. It is that number in hexadecimal digits where amd-smi
// reaches the DRM device, and in decimal digits, still with 0x before them, where it does not (seen with 24.5.2): 17 to
// 20 digits, all decimal, can only be the latter.
func asicSerial(s string) string {
	digits := strings.TrimPrefix(strings.ToLower(label(s)), "0x")
	if len(digits) <= 16 {
		return uniqueID(digits)
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || id == math.MaxUint64 {
		return ""
	}
	return formatUniqueID(id)
}

// decimal tells a serial that amd-smi had to get without the DRM device. Then it has no PCI address either and prints
// whatever lies in memory as one: 380000:00:0f.0.
func decimal(s string) bool {
	return len(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "0x")) > 16
}

// blankUUID is the uuid of a device of which amd-smi could read nothing.
const blankUUID = "ffff0000-0000-1000-80ff-ffffffffffff"

// uuidSerial takes the unique_id from amd-smi's uuid. It is laid out as a version 1 UUID: the highest byte of the unique_id,
// a byte for the partition, two for the PCI device id, zeros, and the other seven bytes:
//
//	a1ff74a1-0000-1000-80b2-c3d4e5f60000 for unique_id a1b2c3d4e5f60000
//
// The component ids (CUID) announced to follow it are laid out otherwise and not taken for one.
func uuidSerial(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != 36 || s[8:21] != "-0000-1000-80" || s[23] != '-' {
		return ""
	}
	return uniqueID(s[:2] + s[21:23] + s[24:])
}

// hipUUID takes the unique_id from amd-smi's hip_uuid, GPU-a1b2c3d4e5f60000.
func hipUUID(s string) string {
	digits, ok := strings.CutPrefix(strings.TrimSpace(s), "GPU-")
	if !ok {
		return ""
	}
	return uniqueID(digits)
}

// address is a PCI address. The zero address is none: 0000:00:00.0 is the host bridge, which amd-smi prints where it
// could not read one.
type address struct {
	domain, bus, device, function uint32
}

// parseAddress reads domain:bus:device.function. What cannot be one, such as the uninitialised memory that amd-smi 24.5.2
// prints without access to the DRM device, is none.
func parseAddress(s string) (address, bool) {
	parts := strings.Split(strings.TrimSpace(s), ":")
	if len(parts) != 3 {
		return address{}, false
	}
	device, function, ok := strings.Cut(parts[2], ".")
	if !ok {
		return address{}, false
	}
	parts = append(parts[:2], device, function)
	var n [4]uint32
	for i, bits := range [...]int{17, 8, 5, 4} { // a domain has 16 bits, or one more behind a controller of its own (VMD)
		v, err := strconv.ParseUint(parts[i], 16, 32)
		if err != nil || v>>bits != 0 {
			return address{}, false
		}
		n[i] = uint32(v)
	}
	a := address{domain: n[0], bus: n[1], device: n[2], function: n[3]}
	return a, a != address{}
}

// String returns the address in the form of Info.PCIAddress; empty for none.
func (a address) String() string {
	if a == (address{}) {
		return ""
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", a.domain, a.bus, a.device, a.function)
}

// board returns the address of the whole device: the function numbers the partitions.
func (a address) board() address {
	a.function = 0
	return a
}
