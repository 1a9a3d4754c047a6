// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const maxNames = 1 << 20 // bytes of the table of names

// accelerators are the accelerators by their PCI device ids, for machines that have no table of names.
var accelerators = map[uint64]string{
	0x738c: "AMD Instinct MI100",
	0x738e: "AMD Instinct MI100",
	0x7408: "AMD Instinct MI250X",
	0x740c: "AMD Instinct MI250X / MI250",
	0x740f: "AMD Instinct MI210",
	0x74a0: "AMD Instinct MI300A",
	0x74a1: "AMD Instinct MI300X",
	0x74a2: "AMD Instinct MI308X",
	0x74a5: "AMD Instinct MI325X",
	0x74b5: "AMD Instinct MI300X VF",
	0x75a0: "AMD Instinct MI350X",
	0x75a3: "AMD Instinct MI355X",
}

// marketingName looks a GPU up in the table of names that libdrm installs: lines of "device,\trevision,\tname" in
// hexadecimal digits.
func marketingName(root string, device, revision uint64) string {
	f, err := os.Open(filepath.Join(root, "usr/share/libdrm/amdgpu.ids")) //nolint:gosec // below the root that is configured
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, maxNames))
	for lines.Scan() {
		id, rest, _ := strings.Cut(lines.Text(), ",")
		rev, name, ok := strings.Cut(rest, ",")
		if !ok {
			continue
		}
		d, err := strconv.ParseUint(strings.TrimSpace(id), 16, 32)
		if err != nil || d != device {
			continue
		}
		if r, err := strconv.ParseUint(strings.TrimSpace(rev), 16, 32); err == nil && r == revision {
			return label([]byte(name))
		}
	}
	return ""
}
