// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// UniqueID converts the driver's unique_id to the form of hw.id: 16 lower-case hexadecimal digits without 0x. rocm-smi prints it without
// leading zeros, as 0x2150e7d042a1124, or in ROCm 3 as 249220e172fc1a88. The result is empty for an id that was not read, which the tools
// print as N/A, 0x0 or all ones.
func UniqueID(s string) string {
	id, ok := parseUniqueID(s)
	if !ok {
		return ""
	}
	return formatUniqueID(id)
}

func formatUniqueID(id uint64) string { return fmt.Sprintf("%016x", id) }

func parseUniqueID(s string) (uint64, bool) {
	s = strings.ToLower(Label(s))
	s = strings.TrimPrefix(s, "0x")
	if s == "" || len(s) > 16 {
		return 0, false
	}
	id, err := strconv.ParseUint(s, 16, 64)
	return id, err == nil && id != 0 && id != math.MaxUint64
}

// ASICSerial returns the unique_id from amd-smi's asic.asic_serial: in hexadecimal digits if amd-smi has access to the DRM device,
// otherwise in decimal digits, still after 0x (seen with 24.5.2). 17 to 20 digits can only be decimal.
func ASICSerial(s string) string {
	digits := strings.TrimPrefix(strings.ToLower(Label(s)), "0x")
	if len(digits) <= 16 {
		return UniqueID(digits)
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || id == math.MaxUint64 {
		return ""
	}
	return formatUniqueID(id)
}

// DecimalSerial reports whether amd-smi read a serial without access to the DRM device. It has no PCI address then, and prints
// uninitialised memory as one: 380000:00:0f.0.
func DecimalSerial(s string) bool {
	return len(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(s)), "0x")) > 16
}

// BlankUUID is the uuid that amd-smi prints for a device about which it could read nothing.
const BlankUUID = "ffff0000-0000-1000-80ff-ffffffffffff"

// UUIDSerial returns the unique_id from amd-smi's uuid, which has the layout of a version 1 UUID: the highest byte of the unique_id, a byte
// for the partition, two for the PCI device id, zeros, and the other seven bytes:
//
//	a1ff74a1-0000-1000-80b2-c3d4e5f60000 for unique_id a1b2c3d4e5f60000
//
// The component ids (CUID) that are announced to follow it have another layout, for which the result is empty.
func UUIDSerial(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) != 36 || s[8:21] != "-0000-1000-80" || s[23] != '-' {
		return ""
	}
	return UniqueID(s[:2] + s[21:23] + s[24:])
}

// HIPUUID returns the unique_id from amd-smi's hip_uuid, GPU-a1b2c3d4e5f60000.
func HIPUUID(s string) string {
	digits, ok := strings.CutPrefix(strings.TrimSpace(s), "GPU-")
	if !ok {
		return ""
	}
	return UniqueID(digits)
}
