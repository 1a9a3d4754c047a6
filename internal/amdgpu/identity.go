// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// identity is what does not change as long as the driver keeps the GPU. To read it does not wake the GPU.
type identity struct {
	unique  string // hw.id: 16 hexadecimal digits, or empty
	model   string
	info    gpu.Info
	aliases []string
	memory  gpu.Opt[int64]
	profile string
}

// identify reads the identity.
func (b *board) identify() {
	if b.known {
		return
	}
	b.known = true
	b.identity = identity{info: gpu.Info{PCIAddress: b.address}}
	id := &b.identity
	if v, ok := parseHex(b.small("unique_id")); ok && v != 0 && v != math.MaxUint64 {
		id.unique = fmt.Sprintf("%016x", v)
	}
	id.info.Serial = label(b.small("serial_number"))
	id.info.FirmwareVersion = label(b.small("vbios_version"))
	if v, ok := parseInt(b.small("numa_node")); ok && v >= 0 {
		id.info.NUMANode = gpu.Some(v)
	}
	id.info.DriverVersion = b.driverVersion()
	id.model = b.model()
	id.memory = b.bytes(b.files.memoryTotal)
}

// small reads a file that not every GPU has.
func (b *board) small(name string) []byte {
	text, err := b.dir.read(name, b.buf)
	if err != nil {
		b.refuse("identity", name, err)
		return nil
	}
	return text
}

// driverVersion is that of AMD's own driver, which has one; that of the kernel's is the kernel's.
func (b *board) driverVersion() string {
	for _, path := range [...]string{"sys/module/amdgpu/version", "proc/sys/kernel/osrelease"} {
		text, err := readBelow(b.root, path, b.buf)
		if v := label(text); err == nil && v != "" {
			return v
		}
	}
	return ""
}

// model is the name that the board itself has (its FRU), else the one that libdrm knows for it, else that of the table.
func (b *board) model() string {
	if name := label(b.small("product_name")); name != "" {
		return name
	}
	device, ok := parseHex(b.small("device"))
	if !ok {
		return ""
	}
	revision, _ := parseHex(b.small("revision"))
	if name := marketingName(b.root, device, revision); name != "" {
		return name
	}
	return accelerators[device]
}

// describe sets what is known of the GPU without reading it.
func (b *board) describe(d *gpu.Device) {
	b.identity.aliases = b.alias
	if len(b.nodes) > 0 {
		b.identity.info.ComputeCapability = b.nodes[0].target
	}
	if text, ok := b.file("partition", b.computeFile()); ok {
		b.identity.profile = strings.ToUpper(label(text))
	}
	b.identity.info.Profile = b.identity.profile
	b.identity.set(d, b.name)
	d.Epoch = b.epoch
}

// computeFile is the file with the partition mode, where it is to be read: the driver asks the GPU for it.
func (b *board) computeFile() string {
	if b.out.asleep {
		return ""
	}
	return b.files.compute
}

func (id *identity) set(d *gpu.Device, name string) {
	d.ID = id.unique
	d.Name = name
	d.Model = id.model
	d.Vendor = gpu.AMD
	d.Info = id.info
	d.Aliases = id.aliases
}

// openLink opens the function that the card's link to the host ends at: on boards with a PCIe switch of their own, whose
// ports are AMD's too, that of the switch, for behind it the link is always at its best.
func (b *board) openLink() *dir {
	target, err := filepath.EvalSymlinks(filepath.Join(b.path(), "device"))
	if err != nil {
		return nil
	}
	for {
		parent := filepath.Dir(target)
		if !isPCIAddress(filepath.Base(parent)) {
			break
		}
		text, err := readBelow(parent, "vendor", b.buf)
		if v, ok := parseHex(text); err != nil || !ok || v != vendorAMD {
			break
		}
		target = parent
	}
	d, err := openDir(target)
	if err != nil {
		return nil
	}
	return d
}

// readBelow reads a small file by its path.
func readBelow(root, path string, buf []byte) ([]byte, error) {
	d, err := openDir(root)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.read(path, buf)
}
