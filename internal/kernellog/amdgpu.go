// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var (
	// amdgpu 0000:03:00.0: amdgpu: {12}…; new kernels do not repeat "amdgpu: ", and RAS puts the number of its event before the text.
	amdForm = regexp.MustCompile(`^amdgpu ` + address + `: (?:amdgpu: )?(?:\[drm\] )?(?:\{[0-9]+\})?\s*(.*)$`)
	// [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring …: of older kernels, without an address
	drmForm = regexp.MustCompile(`^\[drm:\w+ \[amdgpu\]\] \*ERROR\* (.*)$`)

	ringForm = regexp.MustCompile(`^ring (\S+) timeout\b(, but soft recovered)?`)
	// Process information: process python3 pid 1234 thread python3 pid 1240; since 6.16 without the first two words
	ringProcessForm = regexp.MustCompile(`^(?:Process information: process|Process) (.+) pid ([0-9]+) thread .* pid [0-9]+$`)
	resetForm       = regexp.MustCompile(`^GPU reset\([0-9]+\) (succeeded|failed)\b`)
	resetEndForm    = regexp.MustCompile(`^GPU reset end with ret = -[0-9]+`)
	// socket: 4, die: 0, 3 new correctable hardware errors detected in gfx block; older drivers have the total and no "new". Drivers that have
	// new ones write the total in further lines (in total in), which are left out.
	rasForm = regexp.MustCompile(`\b(new )?([0-9]+) (new )?(correctable|deferred|uncorrectable|poison)` +
		` (?:hardware errors?|consumption) detected in (\w+) block`)
	rasEventForm     = regexp.MustCompile(`^(un)?correctable hardware error\((\w+)\) detected`)
	badPagesForm     = regexp.MustCompile(`^Saved ([0-9]+) pages to EEPROM table`)
	badPageLimitForm = regexp.MustCompile(`^(?:Saved bad pages |RAS records:)([0-9]+) (?:reaches|exceeds?) threshold`)
	poisonForm       = regexp.MustCompile(`(?i)^(?:RAS )?poison (?:consumption|is consumed)`)
	rasClasses       = map[string]gpu.ErrorClass{
		"correctable": gpu.ClassCorrected, "deferred": gpu.ClassDeferred, "uncorrectable": gpu.ClassUncorrected, "poison": gpu.ClassPoison,
	}
)

// parseAMD parses a message of the driver amdgpu.
func parseAMD(r *Record) []Event {
	var events []Event
	for line := range strings.Lines(r.Text) {
		line = strings.TrimSpace(line)
		address, text := "", ""
		if m := amdForm.FindStringSubmatch(line); m != nil {
			address, text = normalAddress(m[1]+m[2]), m[3]
		} else if m := drmForm.FindStringSubmatch(line); m != nil {
			address, text = normalAddress(strings.TrimPrefix(r.Device, "+pci:")), m[1]
		}
		if e, ok := amdEvent(text); ok {
			e.Address, e.Text = address, text
			events = append(events, e)
		}
	}
	return events
}

func amdEvent(text string) (Event, bool) {
	if m := ringForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindRingTimeout, Part: m[1], Recovered: m[2] != ""}, true
	}
	if m := ringProcessForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindRingProcess, Process: m[1], PID: processID(m[2])}, true
	}
	if strings.HasPrefix(text, "GPU reset begin!") {
		return Event{Kind: KindResetBegun}, true
	}
	if m := resetForm.FindStringSubmatch(text); m != nil {
		if m[1] == "succeeded" {
			return Event{Kind: KindResetSucceeded}, true
		}
		return Event{Kind: KindResetFailed}, true
	}
	if resetEndForm.MatchString(text) {
		return Event{Kind: KindResetFailed}, true
	}
	if m := rasForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindRAS, Count: number(m[2]), Class: rasClasses[m[4]], Total: m[1]+m[3] == "", Part: m[5]}, true
	}
	if m := rasEventForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindRAS, Class: rasClasses[m[1]+"correctable"], Part: m[2]}, true
	}
	if m := badPagesForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindBadPages, Count: number(m[1])}, true
	}
	if m := badPageLimitForm.FindStringSubmatch(text); m != nil {
		return Event{Kind: KindBadPageLimit, Count: number(m[1])}, true
	}
	if poisonForm.MatchString(text) {
		return Event{Kind: KindRAS, Class: gpu.ClassPoison}, true
	}
	return Event{}, false
}
