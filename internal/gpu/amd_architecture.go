// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import "strings"

// amdArchitectures maps the prefixes of compiler targets to architectures. The first match counts.
var amdArchitectures = [...]struct{ target, name string }{
	{"gfx90a", "cdna2"},
	{"gfx908", "cdna"},
	{"gfx94", "cdna3"},
	{"gfx95", "cdna4"},
	{"gfx90", "gcn5"},
	{"gfx101", "rdna"},
	{"gfx103", "rdna2"},
	{"gfx110", "rdna3"},
	{"gfx115", "rdna3.5"},
	{"gfx120", "rdna4"},
}

// AMDArchitecture returns the architecture of a compiler target, such as gfx942; empty if it is unknown.
func AMDArchitecture(target string) string {
	for _, a := range amdArchitectures {
		if strings.HasPrefix(target, a.target) {
			return a.name
		}
	}
	return ""
}
