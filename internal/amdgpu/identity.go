// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// identity is what does not change as long as the driver keeps the GPU. To read it does not wake the GPU.
type identity struct {
	unique   string // hw.id: 16 hexadecimal digits, or empty
	product  string // the name that the board itself has (its FRU)
	device   gpu.Opt[uint64]
	revision gpu.Opt[uint64]
	model    string
	info     gpu.Info
	aliases  []string
	memory   gpu.Opt[int64]
	profile  string
	answered []string // the files that need not be asked again
}

// identify reads what is not known yet of the identity.
func (b *board) identify() {
	if b.known {
		return
	}
	b.known = true
	id := &b.identity
	id.info.PCIAddress = b.address
	if v, ok := parseHex(b.small("unique_id")); ok && v != 0 && v != math.MaxUint64 {
		id.unique = fmt.Sprintf("%016x", v)
	}
	id.info.Serial = cmp.Or(label(b.small("serial_number")), id.info.Serial)
	id.info.FirmwareVersion = cmp.Or(label(b.small("vbios_version")), id.info.FirmwareVersion)
	if v, ok := parseInt(b.small("numa_node")); ok && v >= 0 {
		id.info.NUMANode = gpu.Some(v)
	}
	if id.info.DriverVersion == "" {
		id.info.DriverVersion = b.driverVersion()
	}
	b.model()
	if v, ok := parseInt(b.small(b.files.memoryTotal)); ok && v > 0 && v <= mostBytes {
		id.memory = gpu.Some(v)
	}
}

// small reads a file of the identity, which not every GPU has, until the driver has answered for it, be it that there is
// none: while it resets the GPU, or the machine is suspended, it refuses files that it gives afterwards. To ask for them is
// to ask nothing of the GPU, so a refusal does not count among the readings that failed.
func (b *board) small(name string) []byte {
	id := &b.identity
	if name == "" || slices.Contains(id.answered, name) {
		return nil
	}
	text, err := b.access(b.dir, name, b.buf)
	if err != nil && !unsupported(err) {
		b.note(err)
		b.unknown(name, err)
		return nil
	}
	id.answered = append(id.answered, name)
	if err != nil {
		return nil
	}
	return text
}

// unknown notes that a part of the identity could not be read, and is to be read again.
func (b *board) unknown(name string, err error) {
	b.known = false
	b.out.problems.add("identity", readError(b.title(), name, err))
}

// driverVersion is that of AMD's own driver, which has one; that of the kernel's is the kernel's.
func (b *board) driverVersion() string {
	for _, path := range [...]string{"sys/module/amdgpu/version", "proc/sys/kernel/osrelease"} {
		text, err := readBelow(b.root, path, b.buf)
		if err != nil && !unsupported(err) {
			b.unknown("/"+path, err)
			return ""
		}
		if v := label(text); err == nil && v != "" {
			return v
		}
	}
	return ""
}

// model finds the name that the board itself has, else the one that libdrm knows for it, else that of the table.
func (b *board) model() {
	id := &b.identity
	id.product = cmp.Or(label(b.small("product_name")), id.product)
	if v, ok := parseHex(b.small("device")); ok {
		id.device = gpu.Some(v)
	}
	if v, ok := parseHex(b.small("revision")); ok {
		id.revision = gpu.Some(v)
	}
	id.model = id.product
	device, ok := id.device.Get()
	if id.model != "" || !ok {
		return
	}
	// Boards of one device id and different revisions are different models.
	if slices.Contains(id.answered, "revision") {
		revision, _ := id.revision.Get()
		id.model = marketingName(b.root, device, revision)
	}
	id.model = cmp.Or(id.model, accelerators[device])
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
