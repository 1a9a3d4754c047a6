// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package xid

import (
	_ "embed" // the catalogue
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
)

//go:embed catalogue.csv
var catalogue string

// Severity is how bad an XID is. docs/reference/events/xid.md has the rule.
type Severity uint8

// The severities. SeverityWarning is also the severity of a code that the catalogue does not have.
const (
	SeverityWarning Severity = iota // a program failed, or the fault was contained or corrected: the GPU works on
	SeverityInfo                    // nothing failed
	SeverityError                   // the GPU, its memory or a link failed, and needs more than a restart of the program
	SeverityFatal                   // the GPU is lost
)

var severities = map[string]Severity{
	"warning": SeverityWarning, "info": SeverityInfo, "error": SeverityError, "fatal": SeverityFatal,
}

// Cause is what an XID comes from, if it is known for the code.
type Cause uint8

// The causes.
const (
	CauseOther   Cause = iota // the hardware, its firmware, the driver, or not known
	CauseProgram              // a program's own fault
	CauseTest                 // it was sent on purpose
)

var causes = map[string]Cause{"": CauseOther, "program": CauseProgram, "test": CauseTest}

// Entry is one entry of the catalogue.
type Entry struct {
	Code     int64
	Name     string   // NVIDIA's mnemonic
	Meaning  string   // in our words, without a full stop
	Severity Severity // ours
	Cause    Cause    // ours
	Action   Action   // that NVIDIA recommends; zero: none

	follows string // codes, or followsAny
}

// followsAny represents all codes except the codes of SeverityInfo.
const followsAny = "any"

// Entries returns the whole catalogue, in the order of the codes.
func Entries() (entries []Entry) {
	for line := range strings.Lines(catalogue) {
		if e, ok := parseEntry(line); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// Lookup returns the entry of a code, and whether the catalogue has one. It searches the text: XIDs are rare.
func Lookup(code int64) (Entry, bool) {
	start := strings.Index(catalogue, "\n"+strconv.FormatInt(code, 10)+",")
	if start < 0 {
		return Entry{}, false
	}
	line, _, _ := strings.Cut(catalogue[start+1:], "\n")
	return parseEntry(line)
}

// parseEntry parses a line of the catalogue; false: a comment or the heading. A test reads every line.
func parseEntry(line string) (Entry, bool) {
	fields, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil || len(fields) != 7 {
		return Entry{}, false
	}
	code, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return Entry{}, false
	}
	return Entry{
		Code: code, Name: fields[1], Action: actionOf(code, fields[2]), Severity: severities[fields[3]], Cause: causes[fields[4]],
		follows: fields[5], Meaning: fields[6],
	}, true
}

// Follows reports whether NVIDIA documents that the error comes with an earlier one of the given code on the same GPU: as its detail, as the
// cleanup after it, or as the recovery from it.
func (e Entry) Follows(earlier int64) bool {
	if e.follows != followsAny {
		return slices.Contains(strings.Fields(e.follows), strconv.FormatInt(earlier, 10))
	}
	other, known := Lookup(earlier)
	return known && other.Severity != SeverityInfo && earlier != e.Code
}
