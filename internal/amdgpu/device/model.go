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

const (
	namesFile = "usr/share/libdrm/amdgpu.ids"
	maxNames  = 1 << 20 // bytes of the table of names
)

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

// Names are the marketing names of GPUs, by PCI device id and revision.
type Names map[[2]uint64]string

// ReadNames reads the table of names that libdrm installs below root: lines of "device,\trevision,\tname", the numbers in hexadecimal
// digits. The result is not nil, and empty if there is no table. It is the same for all GPUs.
func ReadNames(root string) (Names, error) {
	names := Names{}
	f, err := os.Open(filepath.Join(root, namesFile)) //nolint:gosec // below the root that is configured
	if err != nil {
		return names, nil //nolint:nilerr // most machines have no table
	}
	defer f.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, maxNames))
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), ",", 3)
		if len(fields) < 3 {
			continue
		}
		device, ok1 := sysfs.ParseHex(fields[0])
		revision, ok2 := sysfs.ParseHex(fields[1])
		if key := [2]uint64{device, revision}; ok1 && ok2 && names[key] == "" {
			names[key] = sysfs.Label(fields[2])
		}
	}
	return names, nil
}
