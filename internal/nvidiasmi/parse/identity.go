// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func identityFields() []Field {
	info := func(target func(*gpu.Info) *string) func(*builder) *string {
		return func(b *builder) *string { return target(&b.gpu.Device.Info) }
	}
	return []Field{
		basic("index", 0, "", setIndex),
		basic("uuid gpu_uuid", 0, "uuid", setID),
		basic("pci.bus_id gpu_bus_id", 0, "pci/pci_bus_id", setPCI),
		basic("serial gpu_serial", 0, "serial", textOf(info(func(i *gpu.Info) *string { return &i.Serial }))),
		basic("driver_version", 0, "../driver_version", setDriver),
		column("kmd_version", 0, "../kmd_version", setKernelDriver),
		basic("count", 0, "../attached_gpus", integerOf(unitCount, func(b *builder) *gpu.Opt[int64] { return &b.listing.Attached })),
		basic("vbios_version", 0, "vbios_version", setVBIOS),
		column("compute_cap", 0, "", textOf(info(func(i *gpu.Info) *string { return &i.ComputeCapability }))),
		column("mig.mode.current", 0, "mig_mode/current_mig", both(boolOf(func(b *builder) *gpu.Opt[bool] { return &b.gpu.MIGEnabled }), mode(gpu.ModeMIG))).called("mig.mode"),
		column("inforom.img inforom.image", 0, "inforom_version/img_version", textOf(info(func(i *gpu.Info) *string { return &i.InfoROMVersion }))),
		column("c2c.mode", 0, "c2c_mode", wordOf(info(func(i *gpu.Info) *string { return &i.C2CMode }))),
		xmlOnly("cuda_version", "../cuda_version", setCUDA),
		xmlOnly("minor_number", "minor_number", setMinor),
		xmlOnly("brand", "product_brand", knownWord(info(func(i *gpu.Info) *string { return &i.Brand }))),
		xmlOnly("architecture", "product_architecture", setArchitecture),
		xmlOnly("board_part_number", "board_part_number", textOf(info(func(i *gpu.Info) *string { return &i.BoardPartNumber }))),
		xmlOnly("gpu_part_number", "gpu_part_number", setGPUPartNumber),
	}
}

var bareUUID = regexp.MustCompile(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$`)

// setID takes a GPU's UUID, which begins with GPU-, except on Jetson.
func setID(b *builder, printed []byte) bool {
	printed = bytes.TrimSpace(printed)
	ok := bytes.HasPrefix(printed, []byte("GPU-")) || bareUUID.Match(printed)
	if ok {
		b.gpu.Device.ID = text(printed)
	}
	return ok
}

func setPCI(b *builder, printed []byte) bool {
	address := PCIAddress(string(bytes.TrimSpace(printed)))
	if address != "" {
		b.gpu.Device.Info.PCIAddress = address
	}
	return address != ""
}

// setDriver takes a version only: from driver 610 on the old name may print that another name is to be used.
func setDriver(b *builder, printed []byte) bool {
	if printed = bytes.TrimSpace(printed); digits(printed) > 0 {
		b.listing.DriverVersion = text(printed)
	}
	return true
}

// setKernelDriver takes the driver version from its newer name, if the old one did not print it.
func setKernelDriver(b *builder, printed []byte) bool {
	return b.listing.DriverVersion != "" || setDriver(b, printed)
}

// setCUDA takes the version of CUDA that the driver supports. Without a library of CUDA the tool prints Not Found.
func setCUDA(b *builder, printed []byte) bool {
	if printed = bytes.TrimSpace(printed); digits(printed) > 0 {
		b.cuda = text(printed)
	}
	return true
}

// knownWord returns a setter of a word. The tool prints Unknown for a number that has no word.
func knownWord(target func(*builder) *string) setter {
	set := wordOf(target)
	return func(b *builder, printed []byte) bool {
		ok := set(b, printed)
		if word := target(b); *word == "unknown" {
			*word = ""
		}
		return ok
	}
}

// setArchitecture reads the name of an architecture. Ada Lovelace is the only one of two words; NVML calls it Ada.
func setArchitecture(b *builder, printed []byte) bool {
	target := &b.gpu.Device.Info.Architecture
	ok := knownWord(func(*builder) *string { return target })(b, printed)
	if *target == "ada_lovelace" {
		*target = "ada"
	}
	return ok
}

// setVBIOS reads the version of the VBIOS.
func setVBIOS(b *builder, printed []byte) bool {
	version, ok := freeText(printed)
	if ok {
		b.gpu.Device.Info.FirmwareVersion = gpu.FirmwareVersion(version)
	}
	return ok
}

// boardPartNumber matches the part number of a board: 900-2G183-0000-000. The part number of a chip looks like 1EB8-895-A1.
var boardPartNumber = regexp.MustCompile(`^[0-9]{3}-[0-9A-Z]{5}-[0-9]{4}-[0-9]{3}$`)

// setGPUPartNumber takes the part number of the board, which drivers without board_part_number print as the part number of the GPU. Later drivers
// print the part number of the chip there. A board without a number has zeros.
func setGPUPartNumber(b *builder, printed []byte) bool {
	number, _ := freeText(printed)
	if i := &b.gpu.Device.Info; i.BoardPartNumber == "" && boardPartNumber.MatchString(number) && strings.Trim(number, "0-") != "" {
		i.BoardPartNumber = number
	}
	return true
}

func setIndex(b *builder, printed []byte) bool {
	v, ok := integer(printed, unitCount)
	if ok = ok && v < maxGPUs; ok {
		b.gpu.Device.Index = gpu.Some(int(v))
	}
	return ok
}

// setMinor takes the number of the device node, which a GPU without a node does not have.
func setMinor(b *builder, printed []byte) bool {
	if v, ok := integer(printed, unitCount); ok {
		b.gpu.Minor = gpu.Some(v)
		return true
	}
	b.gpu.MinorFailed = reasonOf(printed) == reasonError
	return false
}

// setUnreachable reads the message that replaces a GPU that cannot be reached. The place, often all that is known, identifies the GPU.
func setUnreachable(b *builder, printed []byte) bool {
	u, ok := unreachable(printed)
	if !ok {
		return true
	}
	b.begin()
	b.gpu.Device.Index = u.Index
	b.gpu.Device.Info.PCIAddress = u.PCI
	b.gpu.Device.AddFault(u.Fault(), u.Reason)
	b.gpu.Unreadable = true
	b.end()
	return true
}
