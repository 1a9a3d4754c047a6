// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Failure is why the tool failed.
type Failure uint8

// The failures, by the tool's messages and by the exit codes of its manual, which are given here.
const (
	FailureNone            Failure = iota
	FailureDriverNotLoaded         // 9
	FailureDriverMismatch          // 18: the library has another version than the kernel driver
	FailureLibraryMissing          // 12
	FailureNoPermission            // 4
	FailureNoDevices               // 6
	FailureToolMismatch            // the tool has another version than the library
	FailureInit                    // NVML does not initialise for another reason, such as Unknown Error
	FailureUnsupported             // 3: not supported on these GPUs, such as pmon under WDDM
	FailureUsage                   // 2: a switch or field that this version does not have
	FailureOther                   // 255 and the rest
)

// Diagnosis is what the tool's messages and exit code say, apart from its data.
type Diagnosis struct {
	Failure Failure
	Message string // the message of the failure, or the exit code
	// Unreachable are GPUs for which the driver returns no device handle. They are missing in the data.
	Unreachable []Unreachable
	// BadField is a field that this version does not have. The tool then prints no data.
	BadField string
	// CorruptInfoROM are the PCI addresses of GPUs with a corrupt infoROM. They are in the data.
	CorruptInfoROM []string
}

// message is a phrase by which a message is recognised, and the failure that it reports.
type message struct {
	phrase  string
	failure Failure
}

// messages are the tool's messages in lower case, the most specific first. One without a failure is not data either.
var messages = []message{
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
	{"nvml library version:", FailureNone}, // second line of a version mismatch
	{"reboot the system to recover", FailureNone},
	{"this may be because not all required external power cables", FailureNone}, // second line of a GPU without power
	{"attached, or the attached cables are not seated properly", FailureNone},
	{"are you sure you are using", FailureNone}, // second line of a version mismatch
	{"warning:", FailureNone},
}

var (
	badField = regexp.MustCompile(`(?i)field "([^"]*)" is not a valid field to query`)
	infoROM  = regexp.MustCompile(`(?i)inforom is corrupted at gpu\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])`)
)

// maxMessage is how much of a line is searched for a message: a line may be as long as the whole output.
const maxMessage = 4096

// isMessage reports whether a line is a message and not data. A line that starts with a digit, # or - is data regardless of its text
// columns.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] >= '0' && line[0] <= '9' || line[0] == '#' || line[0] == '-' {
		return false
	}
	lower := strings.ToLower(string(line[:min(len(line), maxMessage)]))
	return slices.ContainsFunc(messages, func(m message) bool { return strings.Contains(lower, m.phrase) })
}

// Diagnose reads the tool's messages and its exit code. Messages may be on either stream, before, after and between the data. The exit code
// counts only if there is no message: the tool reports a lost GPU with code 0 and with others.
func Diagnose(stdout, stderr []byte, exitCode int) Diagnosis {
	var d Diagnosis
	for _, stream := range [][]byte{withoutXML(clean(stdout)), clean(stderr)} {
		for line := range lines(stream) {
			if isMessage(line) {
				d.read(bytes.TrimSpace(line))
			}
		}
	}
	if d.Failure == FailureNone && exitCode != 0 {
		d.Failure = failureOf(exitCode)
		d.Message = "exit code " + strconv.Itoa(exitCode)
		for _, stream := range [][]byte{stderr, withoutXML(stdout)} {
			if printed := quoted(stream); printed != "" {
				d.Message += ": " + printed
				break
			}
		}
	}
	return d
}

// read takes one message.
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

// maxBesideXML is how much output beside the document is searched for messages.
const maxBesideXML = 1 << 20

// withoutXML returns the output without the XML document in it, whose values may look like messages. It keeps a message that is in the
// document as a line of its own and not in an element.
func withoutXML(data []byte) []byte {
	start := bytes.Index(data, []byte("<nvidia_smi_log"))
	if start < 0 {
		return data
	}
	end := bytes.LastIndex(data, []byte("</nvidia_smi_log>"))
	if end < start {
		end = len(data)
	}
	if len(data)-(end-start) > maxBesideXML { // a flood of something else is not copied
		return data[:start]
	}
	result := bytes.Clone(data[:start])
	for line := range lines(data[start:end]) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("Unable to determine the")) {
			result = append(append(append(result, '\n'), line...), '\n')
		}
	}
	return append(result, data[end:]...)
}

// failureOf reads the exit codes of the tool's manual.
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
