// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Failure is why the tool could not do its work.
type Failure uint8

// The failures, by the tool's messages and the exit codes of its manual.
const (
	FailureNone            Failure = iota
	FailureDriverNotLoaded         // 9
	FailureDriverMismatch          // 18: the library is of another version than the kernel's driver
	FailureLibraryMissing          // 12
	FailureNoPermission            // 4
	FailureNoDevices               // 6
	FailureToolMismatch            // the tool is of another version than the library
	FailureInit                    // NVML says no for another reason, such as Unknown Error
	FailureUnsupported             // 3: not on these devices, as pmon under WDDM
	FailureUsage                   // 2: a switch or field that this version does not know
	FailureOther                   // 255 and the rest
)

// Diagnosis is what a tool's messages and exit code tell, beside its data.
type Diagnosis struct {
	Failure Failure
	Message string // the line that told, or the exit code
	// Unreachable are GPUs for which the driver gives no handle. They are missing in the data.
	Unreachable []Unreachable
	// BadField is the field that the version does not know: nothing was printed on its account.
	BadField string
	// CorruptInfoROM are the PCI addresses of boards whose infoROM is corrupt; they are in the data.
	CorruptInfoROM []string
}

// Unreachable is a GPU of which the driver gives no handle, or nothing but one.
type Unreachable struct {
	Index  gpu.Opt[int]
	PCI    string // empty where it is not printed
	Reason string
}

// Fault is what the reason says of the GPU. One that has fallen off the bus is told by that, or by an Unknown Error.
func (u Unreachable) Fault() gpu.FaultType {
	b := []byte(u.Reason)
	switch reasonOf(b) {
	case reasonLost:
		return gpu.FaultLost
	case reasonResetRequired:
		return gpu.FaultResetRequired
	case reasonAbsent, reasonError:
	}
	for _, phrase := range []string{"unknown error", "not found", "fallen off", "reboot"} {
		if containsFold(b, phrase) {
			return gpu.FaultLost
		}
	}
	return gpu.FaultUnreachable
}

// messages are the tool's messages, in lower case, most telling first.
var messages = []struct {
	phrase  string
	failure Failure
}{
	{"unable to determine the number of", FailureInit},
	{"unable to determine the", FailureNone},
	{"problem with gpu", FailureNone},
	{"inforom is corrupted", FailureNone},
	{"driver/library version mismatch", FailureDriverMismatch},
	{"couldn't communicate with the nvidia driver", FailureDriverNotLoaded},
	{"failed to initialize nvml: driver not loaded", FailureDriverNotLoaded},
	{"couldn't find libnvidia-ml", FailureLibraryMissing},
	{"failed to initialize nvml: nvml shared library", FailureLibraryMissing},
	{"failed to initialize nvml: insufficient permissions", FailureNoPermission},
	{"failed to initialize nvml: no permission", FailureNoPermission},
	{"failed to initialize nvml: no supported gpus were found", FailureNoDevices},
	{"failed to initialize nvml: no gpus were found", FailureNoDevices},
	{"failed to initialize nvml: not found", FailureNoDevices},
	{"mismatch in versions between nvidia-smi and nvml", FailureToolMismatch},
	{"mismatch in expected nvml version", FailureToolMismatch},
	{"failed to initialize nvml", FailureInit},
	{"nvidia-smi has failed because", FailureInit},
	{"no devices were found", FailureNoDevices},
	{"no devices found", FailureNoDevices},
	{"is not a valid field to query", FailureUsage},
	{"not supported in this configuration", FailureUnsupported},
	{"not supported on the device(s)", FailureUnsupported},
	{"is not supported", FailureUnsupported},
	{"failed to process command line", FailureUsage},
	{"invalid combination of input arguments", FailureUsage},
	{"is not recognized", FailureUsage},
	{"nvml library version:", FailureNone}, // the second line of a mismatch
	{"reboot the system to recover", FailureNone},
	{"this may be because not all required external power cables", FailureNone}, // the second line of a GPU without power
	{"attached, or the attached cables are not seated properly", FailureNone},
	{"are you sure you are using", FailureNone}, // the second line of a mismatch
	{"warning:", FailureNone},
}

// isMessage tells a message from data. It is asked for every row, so that it looks at the first letter before all else:
// rows begin with a digit, a date or a quantity in small letters.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] >= '0' && line[0] <= '9' || line[0] == '#' || line[0] == '-' {
		return false
	}
	lower := bytes.ToLower(line)
	for _, m := range messages {
		if bytes.Contains(lower, []byte(m.phrase)) {
			return true
		}
	}
	return false
}

var (
	// The index and the colon after it may be absent, and the address may follow GPU without a space.
	handleAddress = regexp.MustCompile(`(?i)device handle for gpu\s*(\d*?)\s*:?\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?:\s*:\s*(.*))?`)
	handleIndex   = regexp.MustCompile(`(?i)(?:device handle for|problem with) gpu\s*(\d+)\s*(?::\s*(.*))?`)
	// A GPU that has a handle and says nothing else. Where its name should be there may be anything.
	handleOnly = regexp.MustCompile(`(?i)unable to determine the [a-z ]+ for .*:\s*([^:]*)`)
	badField   = regexp.MustCompile(`(?i)field "([^"]*)" is not a valid field to query`)
	infoROM    = regexp.MustCompile(`(?i)inforom is corrupted at gpu\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])`)
)

// unreachable reads a line about a GPU that cannot be reached.
func unreachable(line []byte) (Unreachable, bool) {
	var index, pci, reason []byte
	if m := handleAddress.FindSubmatch(line); m != nil {
		index, pci, reason = m[1], m[2], m[3]
	} else if m := handleIndex.FindSubmatch(line); m != nil {
		index, reason = m[1], m[2]
	} else if m := handleOnly.FindSubmatch(line); m != nil {
		reason = m[1]
	} else {
		return Unreachable{}, false
	}
	u := Unreachable{PCI: PCIAddress(string(pci)), Reason: quoted(reason)}
	if n, err := strconv.Atoi(string(index)); err == nil && n < maxGPUs {
		u.Index = gpu.Some(n)
	}
	return u, true
}

// Diagnose reads the messages of a tool, which may stand on either stream, before, after and between the data, and its exit
// code. The exit code counts only where no message tells more: a GPU's loss is reported with 0 and with others.
func Diagnose(stdout, stderr []byte, exitCode int) Diagnosis {
	var d Diagnosis
	for _, stream := range [][]byte{outside(clean(stdout)), clean(stderr)} {
		for line := range lines(stream) {
			if isMessage(line) {
				d.read(bytes.TrimSpace(line))
			}
		}
	}
	if d.Failure == FailureNone && exitCode != 0 {
		d.Failure = failureOf(exitCode)
		d.Message = "exit code " + strconv.Itoa(exitCode)
		for _, stream := range [][]byte{stderr, outside(stdout)} {
			if said := quoted(stream); said != "" {
				d.Message += ": " + said
				break
			}
		}
	}
	return d
}

// outside returns the text without the XML document in it, which is large and whose values look like messages. A message
// that stands in the document as a line of its own, and not in an element, is looked for there as well.
func outside(data []byte) []byte {
	start := bytes.Index(data, []byte("<nvidia_smi_log"))
	if start < 0 {
		return data
	}
	end := bytes.LastIndex(data, []byte("</nvidia_smi_log>"))
	if end < start {
		end = len(data)
	}
	kept := bytes.Clone(data[:start])
	for inner := data[start:end]; ; {
		i := bytes.Index(inner, []byte("Unable to determine the"))
		if i < 0 {
			break
		}
		line, rest, _ := bytes.Cut(inner[i:], []byte("\n"))
		if begin := bytes.LastIndexByte(inner[:i], '\n'); len(bytes.TrimSpace(inner[begin+1:i])) == 0 {
			kept = append(append(append(kept, '\n'), line...), '\n')
		}
		inner = rest
	}
	return append(kept, data[end:]...)
}

func (d *Diagnosis) read(line []byte) {
	if u, ok := unreachable(line); ok {
		if len(d.Unreachable) < maxGPUs {
			d.Unreachable = append(d.Unreachable, u)
		}
		return
	}
	if m := infoROM.FindSubmatch(line); m != nil {
		if len(d.CorruptInfoROM) < maxGPUs {
			d.CorruptInfoROM = append(d.CorruptInfoROM, PCIAddress(string(m[1])))
		}
		return
	}
	if m := badField.FindSubmatch(line); m != nil && d.BadField == "" {
		d.BadField = text(m[1])
	}
	for _, m := range messages {
		if containsFold(line, m.phrase) {
			if m.failure != FailureNone && d.Failure == FailureNone {
				d.Failure, d.Message = m.failure, quoted(line)
			}
			return
		}
	}
}

// failureOf reads the exit codes that the tool's manual lists.
func failureOf(exitCode int) Failure {
	switch exitCode {
	case 2:
		return FailureUsage
	case 3:
		return FailureUnsupported
	case 4:
		return FailureNoPermission
	case 6:
		return FailureNoDevices
	case 9:
		return FailureDriverNotLoaded
	case 12:
		return FailureLibraryMissing
	case 18:
		return FailureDriverMismatch
	}
	return FailureOther
}
