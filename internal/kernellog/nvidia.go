// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var (
	// NVRM: Xid (PCI:0000:9b:00 GPU-I:05 GPU-CI:00): 31, pid=1234, name=python3, Ch 00000008 …; older drivers have no "PCI:" or no process,
	// new ones no process if it is unknown.
	xidForm = regexp.MustCompile(`^NVRM: Xid \((?:PCI:)?` + address + `(?: GPU-I:([0-9]{1,5}))?(?: GPU-CI:([0-9]{1,5}))?\): ([0-9]{1,9})(?:, ?(.*))?$`)
	// pid=1234, name=python3, …; pid='<unknown>', name=<unknown>, …
	processForm = regexp.MustCompile(`^pid=('?<unknown>'?|[0-9]+)(, name=)?(?:, )?(.*)$`)
	causeForm   = regexp.MustCompile(` caused by previous Xid ([0-9]{1,9})$`)
	// NVRM: GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d
	gpuForm = regexp.MustCompile(`^NVRM: GPU at (?:PCI:)?` + address + `: (GPU-[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12})$`)
	// nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up; or Non-fatal, and not every one names a link. Further lines
	// with the data of the same error have neither word.
	switchForm = regexp.MustCompile(`^(nvidia-nvswitch[0-9]+): SXid \((?:PCI:)?` + address + `\): ([0-9]{1,9}), (Fatal|Non-fatal), ((?:Link ([0-9]{1,4})\b)?.*)$`)
	// NVRM: GPU 0000:03:00.0: GPU has fallen off the bus.
	// NVRM: The NVIDIA GPU 0000:b3:00.0 \n NVRM: (PCI ID: 10de:26b5) installed in this system has \n NVRM: fallen off the bus and is not responding
	fallenForm = regexp.MustCompile(`NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?` + address + `[^[:xdigit:]](?s:.{0,200})fallen off the bus`)
)

// parseNVIDIA parses a message of NVIDIA's driver.
func parseNVIDIA(text string) []Event {
	var events []Event
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := xidForm.FindStringSubmatch(line); m != nil {
			events = append(events, xidEvent(m))
		} else if m := gpuForm.FindStringSubmatch(line); m != nil {
			events = append(events, Event{Kind: KindGPU, Address: normalAddress(m[1] + m[2]), UUID: "GPU-" + strings.ToLower(m[3][len("GPU-"):]), Text: line})
		}
	}
	if m := fallenForm.FindStringSubmatch(text); m != nil && len(events) == 0 {
		text = strings.Join(strings.Fields(strings.ReplaceAll(text, "NVRM: ", "")), " ")
		events = append(events, Event{Kind: KindFallenOffBus, Address: normalAddress(m[1] + m[2]), Text: text})
	}
	return events
}

// parseSwitch parses a message of NVIDIA's driver for NVSwitches.
func parseSwitch(text string) []Event {
	var events []Event
	for line := range strings.Lines(text) {
		m := switchForm.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		e := Event{Kind: KindSwitchError, Part: m[1], Address: normalAddress(m[2] + m[3]), Class: gpu.ClassNonFatal, Text: m[6], Link: number(m[7])}
		e.XID, _ = number(m[4]).Get()
		if m[5] == "Fatal" {
			e.Class = gpu.ClassFatal
		}
		events = append(events, e)
	}
	return events
}

func xidEvent(m []string) Event {
	e := Event{Kind: KindXID, Address: normalAddress(m[1] + m[2]), GPUInstance: instance(m[3]), ComputeInstance: instance(m[4]), Text: m[6]}
	e.XID, _ = number(m[5]).Get()
	if p := processForm.FindStringSubmatch(m[6]); p != nil {
		e.PID, e.Text = processID(p[1]), p[3] // 0: the XID came with an interrupt
		if p[2] != "" {
			e.Process, e.Text = cutName(p[3])
		}
		if e.Process == "<unknown>" {
			e.Process = ""
		}
	}
	if c := causeForm.FindStringSubmatch(e.Text); c != nil {
		e.CausedBy = number(c[1])
	}
	return e
}

// cutName cuts the name of a process, which may contain commas, from the text after it. A name that contains ", " is whole if the text begins
// with a channel, as most do. Otherwise its end is not known, and the name ends at the first.
func cutName(s string) (name, text string) {
	const maxName = 15 // the kernel's TASK_COMM_LEN without the final zero
	if i := strings.LastIndex(s[:min(len(s), maxName+len(", Ch "))], ", Ch "); i >= 0 {
		return s[:i], s[i+len(", "):]
	}
	name, text, _ = strings.Cut(s, ", ")
	return name, text
}

func instance(s string) gpu.Opt[int] {
	if n, err := strconv.Atoi(s); err == nil {
		return gpu.Some(n)
	}
	return gpu.Opt[int]{}
}
