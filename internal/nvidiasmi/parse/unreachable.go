// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"regexp"
	"strconv"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Unreachable is a GPU for which the driver returns no device handle, or nothing but a handle.
type Unreachable struct {
	Index  gpu.Opt[int]
	PCI    string // empty if it is not printed
	Reason string
}

// Fault returns the fault that follows from the reason. A GPU that has fallen off the bus is reported as lost or with an
// Unknown Error.
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

var (
	// The index and the colon after it may be absent, and the address may follow GPU without a space.
	handleAddress = regexp.MustCompile(`(?i)device handle for gpu\s*(\d*?)\s*:?\s*([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])(?:\s*:\s*(.*))?`)
	handleIndex   = regexp.MustCompile(`(?i)(?:device handle for|problem with) gpu\s*(\d+)\s*(?::\s*(.*))?`)
	// A GPU that has a handle and returns nothing else. The text in the place of its name can be anything.
	handleOnly = regexp.MustCompile(`(?i)unable to determine the [a-z ]+ for .*:\s*([^:]*)`)
)

// unreachable reads a message about a GPU that cannot be reached.
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
