// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var bareUUID = regexp.MustCompile(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$`)

// setID takes a GPU's UUID, which begins with GPU-, except on Jetson.
func setID(b *builder, printed []byte) {
	printed = bytes.TrimSpace(printed)
	if bytes.HasPrefix(printed, []byte("GPU-")) || bareUUID.Match(printed) {
		b.gpu.Device.ID = text(printed)
		return
	}
	b.note("uuid", printed)
}

func setPCI(b *builder, printed []byte) {
	if address := PCIAddress(string(bytes.TrimSpace(printed))); address != "" {
		b.gpu.Device.Info.PCIAddress = address
		return
	}
	b.note("pci.bus_id", printed)
}

// setDriver takes a version only: from driver 610 on the old name may print that another name is to be used.
func setDriver(b *builder, printed []byte) {
	if printed = bytes.TrimSpace(printed); digits(printed) > 0 {
		b.listing.DriverVersion = text(printed)
	}
}

// setKernelDriver takes the driver version from its newer name, if the old one did not print it.
func setKernelDriver(b *builder, printed []byte) {
	if b.listing.DriverVersion == "" {
		setDriver(b, printed)
	}
}

// setCUDA takes the version of CUDA that the driver supports. Without a library of CUDA the tool prints Not Found.
func setCUDA(b *builder, printed []byte) {
	if printed = bytes.TrimSpace(printed); digits(printed) > 0 {
		b.cuda = text(printed)
	}
}

// setArchitecture reads the name of an architecture. Ada Lovelace is the only one of two words; NVML calls it Ada. The tool prints Unknown of
// one that came after it.
func setArchitecture(b *builder, printed []byte) {
	wordOf("architecture", info(func(i *gpu.Info) *string { return &i.Architecture }))(b, printed)
	switch i := &b.gpu.Device.Info; i.Architecture {
	case "ada_lovelace":
		i.Architecture = "ada"
	case unknownWord:
		i.Architecture = ""
	}
}

// setBrand reads the brand of the board.
func setBrand(b *builder, printed []byte) {
	wordOf("brand", info(func(i *gpu.Info) *string { return &i.Brand }))(b, printed)
	if i := &b.gpu.Device.Info; i.Brand == unknownWord {
		i.Brand = ""
	}
}

// unknownWord is what the tool prints, in lower case, of a number that has no word.
const unknownWord = "unknown"

// setVBIOS reads the version of the VBIOS.
func setVBIOS(b *builder, printed []byte) {
	i := &b.gpu.Device.Info
	textOf("vbios_version", info(func(i *gpu.Info) *string { return &i.FirmwareVersion }))(b, printed)
	i.FirmwareVersion = gpu.FirmwareVersion(i.FirmwareVersion)
}

func setInfoROM() setter {
	return textOf("inforom.img", info(func(i *gpu.Info) *string { return &i.InfoROMVersion }))
}

// boardPartNumber matches the part number of a board: 900-2G183-0000-000. The part number of a chip is 1EB8-895-A1.
var boardPartNumber = regexp.MustCompile(`^[0-9]{3}-[0-9A-Z]{5}-[0-9]{4}-[0-9]{3}$`)

// setGPUPartNumber takes the part number of the board, which drivers without board_part_number print as the part number of the GPU. Later
// drivers print the part number of the chip there. A board without a number has zeros.
func setGPUPartNumber(b *builder, printed []byte) {
	number, _ := freeText(printed)
	if i := &b.gpu.Device.Info; i.BoardPartNumber == "" && boardPartNumber.MatchString(number) && strings.Trim(number, "0-") != "" {
		i.BoardPartNumber = number
	}
}

// setC2C reads whether the link to the CPU of the module is enabled.
func setC2C() setter {
	return wordOf("c2c.mode", info(func(i *gpu.Info) *string { return &i.C2CMode }))
}

// setVoltage reads the voltage of the graphics engine. GPUs that do not measure it print 0.
func setVoltage(b *builder, printed []byte) {
	if v, ok := number(printed, unitVolts); ok && v >= 0 && v < 100 {
		if v > 0 {
			b.gpu.Device.Voltage = []gpu.SensorValue{{Location: "gfx", Value: gpu.Some(v)}}
		}
		return
	}
	b.note("voltage.graphics", printed)
}

func setIndex(b *builder, printed []byte) {
	if v, ok := integer(printed, unitCount); ok && v < maxGPUs {
		b.gpu.Device.Index = gpu.Some(int(v))
		return
	}
	b.note("index", printed)
}

// setMinor takes the number of the device node, which a GPU without a node does not have.
func setMinor(b *builder, printed []byte) {
	if v, ok := integer(printed, unitCount); ok {
		b.gpu.Minor = gpu.Some(v)
		return
	}
	b.gpu.MinorFailed = b.note("minor_number", printed) == reasonError
}

// setPState reads P0 to P15.
func setPState(b *builder, printed []byte) {
	if name, found := bytes.CutPrefix(bytes.TrimSpace(printed), []byte("P")); found {
		if v, ok := integer(name, unitCount); ok {
			b.gpu.Device.PerformanceState = gpu.Some(v)
			return
		}
	}
	if string(bytes.TrimSpace(inBrackets(printed))) != "Unknown" {
		b.note("pstate", printed)
	}
}

func setFan(b *builder, printed []byte) {
	if v, ok := number(printed, unitFraction); ok && v >= 0 {
		b.gpu.Device.Fans = []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(v)}}
		return
	}
	b.note("fan.speed", printed)
}

func setReplays(b *builder, printed []byte) {
	if v, ok := integer(printed, unitCount); ok {
		b.gpu.Device.PCIe.Replays = gpu.Total(v)
		return
	}
	b.note("pcie.replay", printed)
}

// setRecovery reads what the driver asks for.
func setRecovery(b *builder, printed []byte) {
	if action := gpu.RecoveryActionOf(text(inBrackets(printed))); action != gpu.RecoveryOther {
		b.gpu.Device.RecoveryAction = gpu.Some(action)
	} else if word, ok := freeText(printed); ok {
		b.gpu.Device.RequestUnknownRecovery(word)
	} else {
		b.note("gpu_recovery_action", printed)
	}
}

// setUnreachable reads the message that replaces a GPU that cannot be reached. The place, often all that is known, identifies the GPU.
func setUnreachable(b *builder, printed []byte) {
	u, ok := unreachable(printed)
	if !ok {
		return
	}
	b.begin()
	b.gpu.Device.Index = u.Index
	b.gpu.Device.Info.PCIAddress = u.PCI
	b.gpu.Device.AddFault(u.Fault(), u.Reason)
	b.gpu.Unreadable = true
	b.end()
}
