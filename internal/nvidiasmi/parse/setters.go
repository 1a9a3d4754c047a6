// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setter takes a printed text to where its value belongs.
type setter func(b *builder, printed []byte)

// whole and truth are setters of a whole number and a flag.
func integerOf(quantity string, units []unit, to func(*builder) *gpu.Opt[int64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := integer(printed, units); ok {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

func boolOf(quantity string, to func(*builder) *gpu.Opt[bool]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := boolean(printed); ok {
			*to(b) = gpu.Some(v)
			return
		}
		b.note(quantity, printed)
	}
}

// count is a setter of a total that the driver keeps.
func counterOf(quantity string, to func(*builder) *gpu.Counter[int64]) setter {
	return func(b *builder, printed []byte) {
		if v, ok := integer(printed, unitCount); ok {
			*to(b) = gpu.Total(v)
			return
		}
		b.note(quantity, printed)
	}
}

// word is a setter of a text; a reason in its place leaves it empty.
func textOf(quantity string, to func(*builder) *string) setter {
	return func(b *builder, printed []byte) {
		printed = bytes.TrimSpace(printed)
		if reason := inBrackets(printed); len(reason) != len(printed) || reasonOf(printed) == reasonAbsent || isErrorString(reason) {
			b.note(quantity, printed)
			return
		}
		*to(b) = text(printed)
	}
}

// isReason knows the reasons that are printed without brackets, in the place of a text that could be anything: what nvmlErrorString
// says of each error.
func isErrorString(b []byte) bool {
	if v := reasonOf(b); v == reasonLost || v == reasonResetRequired {
		return true
	}
	switch string(b) {
	case "Unknown Error", "Insufficient Permissions", "ERR!", "Corrupted infoROM", "Timeout", "Uninitialized", "Invalid Argument",
		"Insufficient Size", "Insufficient External Power", "Insufficient Memory", "Insufficient Resources", "Driver Not Loaded",
		"Interrupt Request Issue", "NVML Shared Library Not Found", "GPU access blocked by the operating system",
		"Driver/library version mismatch", "In use by another client", "Argument version mismatch", "No GPUs were found",
		"Resource not in correct state":
		return true
	}
	return false
}

// setID takes a GPU's UUID, which has GPU- before it, but for those of Jetson.
func setID(b *builder, printed []byte) {
	printed = bytes.TrimSpace(printed)
	if bytes.HasPrefix(printed, []byte("GPU-")) || bareUUID.Match(printed) {
		b.gpu.Device.ID = text(printed)
		return
	}
	b.note("uuid", printed)
}

var bareUUID = regexp.MustCompile(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$`)

func setPCI(b *builder, printed []byte) {
	if address := PCIAddress(string(bytes.TrimSpace(printed))); address != "" {
		b.gpu.Device.Info.PCIAddress = address
		return
	}
	b.note("pci.bus_id", printed)
}

// setUnreachable reads what stands in the place of a GPU that cannot be reached. That it has a place, and often nothing else,
// tells which one it is.
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

// setDriver takes a version only: from driver 610 on the old key may say that another is to be used.
func setDriver(b *builder, printed []byte) {
	if printed = bytes.TrimSpace(printed); digits(printed) > 0 {
		b.listing.DriverVersion = text(printed)
	}
}

// setKernelDriver takes the version under its newer name, where the old one has not told it.
func setKernelDriver(b *builder, printed []byte) {
	if b.listing.DriverVersion == "" {
		setDriver(b, printed)
	}
}

func setIndex(b *builder, printed []byte) {
	if v, ok := integer(printed, unitCount); ok && v < maxGPUs {
		b.gpu.Device.Index = gpu.Some(int(v))
		return
	}
	b.note("index", printed)
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
		b.gpu.Device.Fans = append(b.gpu.Device.Fans[:0], gpu.Fan{Location: "fan0", Ratio: gpu.Some(v)})
		return
	}
	b.note("fan.speed", printed)
}

func setReplays(b *builder, printed []byte) {
	if v, ok := integer(printed, unitCount); ok {
		b.gpu.Device.Errors = append(b.gpu.Device.Errors[:0], gpu.ErrorCount{Type: gpu.ErrorPCIeReplay, Count: gpu.Total(v)})
		return
	}
	b.note("pcie.replay", printed)
}

// setRecovery reads the words of NVML's nvmlDeviceGpuRecoveryAction_t, in the spelling of the tool and of the header.
func setRecovery(b *builder, printed []byte) {
	name := strings.NewReplacer(" ", "", "_", "", "-", "", "(", "", ")", "").Replace(strings.ToLower(text(inBrackets(printed))))
	name = strings.TrimSuffix(strings.TrimPrefix(name, "gpu"), "required")
	switch name {
	case "none":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryNone)
	case "reset":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryReset)
	case "reboot", "nodereboot", "systemreboot":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryReboot)
	case "drainp2p":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryDrainP2P)
	case "drainandreset", "drainreset":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryDrainAndReset)
	case "busreset", "resetbus":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryBusReset)
	case "imexdomain", "imexdomainrecovery", "recoverimexdomain":
		b.gpu.Device.RecoveryAction = gpu.Some(gpu.RecoveryIMEXDomain)
	default:
		b.note("gpu_recovery_action", printed)
	}
}

// throttleActive and throttleTime are setters of one reason for which clocks are held down.
func throttleActive(quantity string, r gpu.ThrottleReason) setter {
	return boolOf(quantity, func(b *builder) *gpu.Opt[bool] { return &b.gpu.Device.Throttle[r].Active })
}

func throttleTime(quantity string, r gpu.ThrottleReason) setter {
	return func(b *builder, printed []byte) {
		if v, ok := number(printed, unitSeconds); ok && v >= 0 {
			b.gpu.Device.Throttle[r].Time = gpu.Total(v)
			return
		}
		b.note(quantity, printed)
	}
}

// ecc is a setter of one part of an ECC count.
func ecc(quantity string, s scope, k kind, to func(*eccParts) *gpu.Opt[int64]) setter {
	return func(b *builder, printed []byte) {
		p := &b.parts.ecc[s][k]
		if v, ok := integer(printed, unitCount); ok {
			*to(p) = gpu.Some(v)
			return
		}
		if b.note(quantity, printed) != reasonAbsent || string(inBrackets(printed)) == "Function Not Found" {
			p.failed = true // the memory may have errors that this driver does not tell
		}
	}
}

// PCIAddress brings a PCI address into the kernel's form, domain:bus:device.function in lower case with a domain of four
// digits, or more where it needs them: nvidia-smi prints eight. It returns "" for anything else.
func PCIAddress(printed string) string {
	domain, rest, ok := strings.Cut(printed, ":")
	if !ok || len(domain) == 0 || len(domain) > 8 || len(rest) != 7 || rest[2] != ':' || rest[5] != '.' {
		return ""
	}
	number, err := strconv.ParseUint(domain, 16, 32)
	if err != nil || !isHex(rest[:2]) || !isHex(rest[3:5]) || !isHex(rest[6:]) {
		return ""
	}
	return fmt.Sprintf("%04x:%s", number, strings.ToLower(rest))
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}
