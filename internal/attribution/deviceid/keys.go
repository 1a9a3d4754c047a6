// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"strconv"
	"strings"
)

// nvidiaNode is the prefix of the name of an NVIDIA GPU's device node, before its number.
const nvidiaNode = "nvidia"

// The keys of an Index. The names of device nodes (nvidia0, card1, renderD128, amdgpu_xcp_3) are keys as they are, and so are the
// names of MIG instances below them (nvidia0/gi1, nvidia0/gi1/ci0).

// tegraKey is the key of a Jetson's GPU.
const tegraKey = "tegra"

// idKey is the key of a device's ID: NVIDIA's tools write it in lower case or capitals.
func idKey(id string) string { return strings.ToLower(id) }

// indexKey is the key of NVIDIA's index of a GPU.
func indexKey(index string) string { return "index:" + index }

// instanceKey is the key of a MIG instance by the ID of its GPU.
func instanceKey(parent string, gi, ci int) string {
	return idKey(parent) + "/" + strconv.Itoa(gi) + "/" + strconv.Itoa(ci)
}

// pciPrefix is the prefix of the key of a PCI address.
const pciPrefix = "pci:"

// pciKey is the key of a PCI address, with a domain of four digits if four suffice.
func pciKey(address string) string {
	address = strings.ToLower(address)
	if len(address) == len("00000000:1b:00.0") {
		address = strings.TrimPrefix(address, "0000")
	}
	return pciPrefix + address
}

// number parses <prefix><number>.
func number(s, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || digits == "" || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

func hasNumber(s, prefix string) bool {
	_, ok := number(s, prefix)
	return ok
}

func isNumber(s string) bool { return hasNumber(s, "") }

// isPCIAddress reports whether s is domain:bus:device.function, with a domain of four or eight digits.
func isPCIAddress(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || (len(domain) != 4 && len(domain) != 8) || len(rest) != len("1b:00.0") || rest[2] != ':' || rest[5] != '.' {
		return false
	}
	return isHex(domain) && isHex(rest[:2]) && isHex(rest[3:5]) && isHex(rest[6:])
}

// hasUUIDPrefix reports whether an ID starts like the ID of an NVIDIA GPU or MIG instance.
func hasUUIDPrefix(id string) bool {
	return strings.HasPrefix(id, "GPU-") || strings.HasPrefix(id, "MIG-")
}

// isUUID reports whether s is a UUID in its usual form of 36 characters.
func isUUID(s string) bool {
	groups := strings.Split(s, "-")
	if len(groups) != 5 {
		return false
	}
	for i, length := range [...]int{8, 4, 4, 4, 12} {
		if len(groups[i]) != length || !isHex(groups[i]) {
			return false
		}
	}
	return true
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }
