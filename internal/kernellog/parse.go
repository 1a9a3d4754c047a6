// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Parse returns what a message reports; mostly nothing. The events have no time.
func Parse(r *Record) []Event {
	events := parseAll(r)
	for i := range events {
		e := &events[i]
		e.Text, e.Process, e.Part = gpu.CleanText(e.Text), gpu.CleanText(e.Process), gpu.CleanText(e.Part)
	}
	return events
}

func parseAll(r *Record) []Event {
	switch {
	case strings.Contains(r.Text, "NVRM: "):
		return parseNVIDIA(r.Text)
	case strings.Contains(r.Text, ": SXid ("):
		return parseSwitch(r.Text)
	case strings.Contains(r.Text, "amdgpu"):
		return append(parseAMD(r), parseAER(r.Text)...)
	default:
		return parseAER(r.Text)
	}
}

// address is the form of a PCI address in the log, with or without the number of the function.
const address = `([[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2})(\.[0-7])?`

var addressForm = regexp.MustCompile("^" + address + "$")

// normalAddress returns an address in the form of gpu.Info.PCIAddress, of function 0 if the function is missing; empty for anything else.
func normalAddress(s string) string {
	m := addressForm.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	domain, rest, _ := strings.Cut(strings.ToLower(m[1]), ":")
	for len(domain) > 4 && domain[0] == '0' {
		domain = domain[1:]
	}
	function := m[2]
	if function == "" {
		function = ".0"
	}
	return domain + ":" + rest + function
}

// number returns the number in a group of an expression; absent if the group is empty or the number too large.
func number(s string) gpu.Opt[int64] {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return gpu.Some(n)
	}
	return gpu.Opt[int64]{}
}

// processID returns the PID in a group of an expression; absent also for 0, the kernel's idle task, which is not a process.
func processID(s string) gpu.Opt[int64] {
	if pid := number(s); pid != gpu.Some[int64](0) {
		return pid
	}
	return gpu.Opt[int64]{}
}
