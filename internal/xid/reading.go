// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package xid

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Reading is what one XID means: by its code, and by the driver's text if there is one. Only the kernel's log has texts.
type Reading struct {
	Severity Severity
	Action   Action
	// Words is the part of the text that decides on the severity, the action and the values below. Empty: the code alone does.
	Words string

	// The error of an NVLink, of the codes 144 to 150: which link, whether it is fatal, and whether it was injected for a test.
	Link            gpu.Opt[int64]
	Fatal, Injected gpu.Opt[bool]

	// Recovery is what the driver asks for now, of the code 154. RecoveryWord is as of gpu.Device.
	Recovery     gpu.Opt[gpu.RecoveryAction]
	RecoveryWord string
}

// codeRecovery is the code of a changed recovery action.
const codeRecovery = 154

var (
	// RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 …): i1 is an error that was injected. XC is not documented.
	nvlinkForm = regexp.MustCompile(`\w+ +(Fatal|Nonfatal) +XC[0-9]+ +i([01]) +Link +(-?[0-9]{1,4})\b`)
	// GPU recovery action changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)
	recoveryForm = regexp.MustCompile(`\bto 0x[[:xdigit:]]+ \(([^()]+)\)`)
)

// ofRecovery are the severities and actions of the driver's requests. Any other action is the action of the code, and a warning.
var ofRecovery = map[gpu.RecoveryAction]struct {
	severity Severity
	action   Action
}{
	gpu.RecoveryNone:          {SeverityInfo, actions["IGNORE"]},
	gpu.RecoveryReset:         {SeverityError, actions["RESET_GPU"]},
	gpu.RecoveryBusReset:      {SeverityError, actions["RESET_GPU"]},
	gpu.RecoveryReboot:        {SeverityFatal, actions["RESTART_BM"]},
	gpu.RecoveryDrainAndReset: {SeverityWarning, drainAndReset},
}

// Read returns what an XID of this code means with a text of the driver's.
func (e Entry) Read(text string) Reading {
	r := Reading{Severity: e.Severity, Action: e.Action}
	switch {
	case e.Code == codeRecovery:
		r.readRecovery(text)
	case e.Code >= 144 && e.Code <= 150:
		r.readNVLink(text)
	case e.Action == actions["IGNORE"]:
		r.readRequest(text)
	}
	return r
}

// readRequest finds what the driver asks for although the catalogue says that nothing needs to be done.
func (r *Reading) readRequest(text string) {
	text = strings.ToLower(text)
	for _, request := range requests {
		if strings.Contains(text, strings.ToLower(request.words)) {
			r.Words, r.Action = request.words, request.action
			return
		}
	}
}

func (r *Reading) readRecovery(text string) {
	m := recoveryForm.FindStringSubmatch(text)
	if m == nil {
		return
	}
	action := gpu.RecoveryActionOf(m[1])
	r.Words, r.Recovery, r.Severity = m[0], gpu.Some(action), SeverityWarning
	if action == gpu.RecoveryOther {
		r.RecoveryWord = m[1]
	}
	if known, ok := ofRecovery[action]; ok {
		r.Severity, r.Action = known.severity, known.action
	}
}

func (r *Reading) readNVLink(text string) {
	m := nvlinkForm.FindStringSubmatch(text)
	if m == nil {
		return
	}
	r.Words, r.Fatal, r.Injected = m[0], gpu.Some(m[1] == "Fatal"), gpu.Some(m[2] == "1")
	if m[1] == "Nonfatal" {
		r.Severity = SeverityWarning
	}
	if link, err := strconv.ParseInt(m[3], 10, 64); err == nil && link >= 0 {
		r.Link = gpu.Some(link)
	}
}
