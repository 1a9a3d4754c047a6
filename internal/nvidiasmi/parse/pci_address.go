// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var pciForm = regexp.MustCompile(`^[[:xdigit:]]{1,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[[:xdigit:]]$`)

// PCIAddress converts a PCI address to the kernel's form: domain:bus:device.function in lower case, with a domain of four digits, or more
// if needed; nvidia-smi prints eight. It returns "" for anything else.
func PCIAddress(printed string) string {
	if !pciForm.MatchString(printed) {
		return ""
	}
	domain, rest, _ := strings.Cut(printed, ":")
	number, err := strconv.ParseUint(domain, 16, 32)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04x:%s", number, strings.ToLower(rest))
}
