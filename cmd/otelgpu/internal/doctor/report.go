// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor diagnoses what a configuration of the collector can read here, what it cannot read, and why. It reads only through the
// sources of the receiver.
//
//	report.go, text.go      what is found, and how it is printed
//	doctor.go               one examination
//	config.go               the receivers of a configuration
//	machine.go, devices.go  facts of the machine
//	source.go               what the sources of this machine have read
//	node.go, clusters.go    what the kubelet and Kubernetes APIs answer
//	compare.go, compare_text.go  our values and the values of the vendors' tools
//	exporters.go            whether something listens at the endpoints
//	bundle.go, redact.go    what an issue report needs
//	secrets.go              what must not be in a report
package doctor // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"

import "time"

// State is what a check has found.
type State string

// The states.
const (
	OK     State = "ok"     // it can be read
	Failed State = "failed" // it is configured, and cannot be read
	Absent State = "absent" // it is not here, and no configuration names it
	Note   State = "note"   // a fact for the reader
)

// Report is all that was found.
type Report struct {
	Version  string    `json:"version"` // of otelgpu
	Time     time.Time `json:"time"`
	Readable bool      `json:"readable"` // all that is configured can be read
	Failed   int       `json:"failed"`   // the number of checks that found something that cannot
	Sections []Section `json:"sections"`

	Comparisons []Comparison `json:"comparisons,omitempty"`
}

// Section is what was found of one source.
type Section struct {
	Name   string  `json:"name"`
	Checks []Check `json:"checks"`
}

// Check is one thing that was looked at.
type Check struct {
	State   State  `json:"state"`
	Subject string `json:"subject"`
	// Found is what there is; of a failure, what was attempted, on what, why it failed and what to do.
	Found string `json:"found"`
	// Reason is error.type of a source's failure; otherwise empty.
	Reason string `json:"reason,omitempty"`
}

// maxNamed is how many things that are alike a report names. It counts the others.
const maxNamed = 20

func (s *Section) add(state State, subject, found string) {
	s.Checks = append(s.Checks, Check{State: state, Subject: subject, Found: withoutSecrets(found)})
}

// close counts what cannot be read.
func (r *Report) close() {
	for _, s := range r.Sections {
		for _, c := range s.Checks {
			if c.State == Failed {
				r.Failed++
			}
		}
	}
	r.Readable = r.Failed == 0
}
