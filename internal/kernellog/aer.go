// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var (
	// nvidia 0000:9b:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID); kernels since 6.16 write Correctable and
	// Uncorrectable.
	aerForm = regexp.MustCompile(`^\S+ ` + address + `: (?:AER: )?PCIe Bus Error: severity=([^,]+), type=([^,]+?)(?: Layer)?, `)
	// pcieport 0000:00:01.0: AER: Corrected error message received from 0000:9b:00.0 (no details found: a root port has the error of
	// another device, which did not answer. If it answered, the line of aerForm follows, so that a line without these words is not counted.
	aerSourceForm = regexp.MustCompile(`^\S+ [[:xdigit:]:.]+: (?:AER: )?(?:Multiple )?(Correct\w+|Uncorrect\w+ \([\w-]+\)) error message received from ` +
		address + ` \(no details found`)
)

// parseAER parses a message of the kernel about an error on PCI Express.
func parseAER(text string) []Event {
	if !strings.Contains(text, "PCIe Bus Error:") && !strings.Contains(text, "error message received from") {
		return nil
	}
	var events []Event
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := aerForm.FindStringSubmatch(line); m != nil {
			events = append(events, Event{Kind: KindPCIeError, Address: normalAddress(m[1] + m[2]), Class: aerClass(m[3]), Part: m[4], Text: line})
		} else if m := aerSourceForm.FindStringSubmatch(line); m != nil {
			events = append(events, Event{Kind: KindPCIeError, Address: normalAddress(m[2] + m[3]), Class: aerClass(m[1]), Text: line})
		}
	}
	return events
}

func aerClass(word string) gpu.ErrorClass {
	switch {
	case strings.HasPrefix(word, "Correct"):
		return gpu.ClassCorrected
	case strings.Contains(word, "(Non-Fatal)"):
		return gpu.ClassNonFatal
	case strings.Contains(word, "(Fatal)"):
		return gpu.ClassFatal
	default:
		return gpu.ClassUncorrected
	}
}
