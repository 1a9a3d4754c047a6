// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is what a parameter's value is.
type Kind int

// The kinds of values.
const (
	Text    Kind = iota // any text that is not empty
	Choice              // one of Choices
	Integer             // from Min to Max
	Moment              // a time in RFC 3339, or a duration before now as Go writes it: 15m
)

// maxValue bounds a parameter's value in bytes. A cursor is the longest: it has two of a list's values.
const maxValue = 4096

// Parameter is a parameter of the path or the query.
type Parameter struct {
	Name        string
	Alias       string // another name of the query, for clients that have it
	Path        bool   // of the path, else of the query
	Required    bool
	Description string
	Kind        Kind
	Choices     []string // of Choice
	Min, Max    uint64   // of Integer
	Default     string   // the value of a missing parameter; may be empty
	Example     string
}

// check reports why a value is not one of the parameter, and what it should be.
func (p *Parameter) check(value string) error {
	switch {
	case value == "":
		return fmt.Errorf("it is empty; give a value, or leave %s out", p.Name)
	case len(value) > maxValue:
		return fmt.Errorf("it is %d bytes long; give at most %d", len(value), maxValue)
	case !utf8.ValidString(value):
		return errors.New("it is not UTF-8; escape its bytes")
	}
	switch p.Kind {
	case Choice:
		if !slices.Contains(p.Choices, value) {
			return fmt.Errorf("%s; give one of %s", quote(value), strings.Join(p.Choices, ", "))
		}
	case Integer:
		if n, err := strconv.ParseUint(value, 10, 64); err != nil || n < p.Min || n > p.Max {
			return fmt.Errorf("%s; give an integer from %d to %d", quote(value), p.Min, p.Max)
		}
	case Moment:
		if _, err := moment(value, time.Time{}); err != nil {
			return fmt.Errorf("%s; give a time as 2006-01-02T15:04:05Z, or a duration before now as 15m", quote(value))
		}
	}
	return nil
}

// moment returns the time of a value of kind Moment.
func moment(value string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t.UTC(), nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%s is neither a time nor a duration", quote(value))
	}
	return now.Add(-d), nil
}

// quote returns a value for a message, not longer than a line.
func quote(value string) string {
	const most = 100
	if len(value) > most {
		return strconv.Quote(strings.ToValidUTF8(value[:most], "")) + "…"
	}
	return strconv.Quote(value)
}
