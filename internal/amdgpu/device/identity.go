// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// identity is what does not change while the driver keeps the GPU. To read it does not wake the GPU.
type identity struct {
	complete bool     // every file has answered
	answered []string // files that need not be read again
	missing  []string // files that did not exist at one read

	unique        string // hw.id: 16 hexadecimal digits, or empty
	serial, vbios string
	part          string // number of the board (its FRU)
	driver        string // version
	target        string // gfx942
	numaNode      gpu.Opt[int64]
	memory        gpu.Opt[int64] // bytes of VRAM

	product          string // the name that the GPU itself has (its FRU)
	device, revision gpu.Opt[uint64]
	model            string
}

// read reads what is not known yet.
func (id *identity) read(r *reader, want gpu.Group, input *Input) {
	if id.complete {
		return
	}
	id.complete = true
	if v, ok := sysfs.ParseHex(id.file(r, "unique_id")); ok && v != 0 && v != math.MaxUint64 {
		id.unique = fmt.Sprintf("%016x", v)
	}
	if id.unique != "" {
		r.title = id.unique
	}
	id.serial = cmp.Or(sysfs.Label(id.file(r, "serial_number")), id.serial)
	id.part = cmp.Or(sysfs.Label(id.file(r, "product_number")), id.part)
	id.vbios = cmp.Or(gpu.FirmwareVersion(sysfs.Label(id.file(r, "vbios_version"))), id.vbios)
	if v, ok := sysfs.ParseInt(id.file(r, "numa_node")); ok && v >= 0 {
		id.numaNode = gpu.Some(v)
	}
	if id.driver == "" {
		id.driver = input.DriverVersion
		if input.DriverVersionErr != nil {
			r.note(input.DriverVersionErr)
			id.incomplete(r, driverVersionFile, input.DriverVersionErr)
		}
	}
	id.readModel(r, input)
	if !want.Has(gpu.GroupMemory) {
		return
	}
	if v, ok := sysfs.ParseUint(id.file(r, "mem_info_vram_total")); ok && v > 0 {
		id.memory = plausible.Bytes(v)
	}
}

// file reads a file, which not every GPU has, until the driver has answered for it: the driver refuses files while it resets the GPU or the
// machine is suspended, and gives them afterwards. A file that does not exist is looked for again at the next read, because the driver
// creates the files of a card one after the other. The GPU is not queried, so a refusal does not count as a quantity that failed.
func (id *identity) file(r *reader, name string) string {
	if slices.Contains(id.answered, name) {
		return ""
	}
	text, err := r.plain(name)
	if err != nil && !unsupported(err) {
		id.incomplete(r, name, err)
		return ""
	}
	if errors.Is(err, fs.ErrNotExist) && !slices.Contains(id.missing, name) {
		id.missing = append(id.missing, name)
		id.complete = false
		return ""
	}
	id.answered = append(id.answered, name)
	return text
}

// incomplete notes that a part of the identity could not be read, and is to be read again.
func (id *identity) incomplete(r *reader, name string, err error) {
	id.complete = false
	r.problem("identity", readError(r.title, name, err))
}

const driverVersionFile = "/sys/module/" + scan.DriverName + "/version"

// ReadDriverVersion reads the version of AMD's own driver, which is the same for all GPUs. The kernel's driver has only the version of the
// kernel.
func ReadDriverVersion(root string) (string, error) {
	for _, path := range [...]string{driverVersionFile, "/proc/sys/kernel/osrelease"} {
		text, err := sysfs.Read(root + path)
		if err != nil && !unsupported(err) {
			return "", err
		}
		if v := sysfs.Label(string(text)); v != "" {
			return v, nil
		}
	}
	return "", nil
}

// readModel finds the name that the GPU itself reports, else its name in libdrm, else its name among the accelerators.
func (id *identity) readModel(r *reader, input *Input) {
	id.product = cmp.Or(sysfs.Label(id.file(r, "product_name")), id.product)
	if v, ok := sysfs.ParseHex(id.file(r, "device")); ok {
		id.device = gpu.Some(v)
	}
	if v, ok := sysfs.ParseHex(id.file(r, "revision")); ok {
		id.revision = gpu.Some(v)
	}
	id.model = id.product
	device, ok := id.device.Get()
	if id.model != "" || !ok {
		return
	}
	// GPUs of one device id and different revisions are different models.
	if slices.Contains(id.answered, "revision") {
		revision, _ := id.revision.Get()
		id.model = input.Names[[2]uint64{device, revision}]
		if input.Names == nil {
			id.incomplete(r, namesFile, errNoAnswer)
		}
	}
	id.model = cmp.Or(id.model, acceleratorName(device))
}

// describe returns a device with this identity.
func (id *identity) describe(input Input) gpu.Device {
	if len(input.Nodes) > 0 {
		id.target = input.Nodes[0].Target
	}
	return gpu.Device{
		ID: id.unique, Name: input.Card.Name, Model: id.model, Vendor: gpu.AMD,
		Info: gpu.Info{
			Serial: id.serial, FirmwareVersion: id.vbios, DriverVersion: id.driver, PCIAddress: input.Card.Address, NUMANode: id.numaNode,
			ComputeCapability: id.target, Architecture: gpu.AMDArchitecture(id.target), BoardPartNumber: id.part,
		},
		Aliases: slices.Clone(input.Card.DRM),
	}
}
