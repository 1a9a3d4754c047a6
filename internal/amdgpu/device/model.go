// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

const maxNames = 1 << 20 // bytes of the table of names

// acceleratorName returns the name of an accelerator by its PCI device id, for machines without a table of names; empty for others.
func acceleratorName(device uint64) string {
	return map[uint64]string{
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
	}[device]
}

// marketingName looks a GPU up in the table of names that libdrm installs: lines of "device,\trevision,\tname", the numbers in
// hexadecimal digits.
func marketingName(root string, device, revision uint64) string {
	f, err := os.Open(filepath.Join(root, "usr/share/libdrm/amdgpu.ids")) //nolint:gosec // below the root that is configured
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, maxNames))
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), ",", 3)
		if len(fields) < 3 {
			continue
		}
		d, ok1 := sysfs.ParseHex(fields[0])
		r, ok2 := sysfs.ParseHex(fields[1])
		if ok1 && ok2 && d == device && r == revision {
			return sysfs.Label(fields[2])
		}
	}
	return ""
}
