// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ParseSyslog parses one line of what syslog(2) returns: "<priority>[seconds.microseconds] text", or "<priority>text" if printk adds no
// time. A message of several lines comes as several lines with the same prefix, see joinLines.
func ParseSyslog(line string) (Record, error) {
	head, rest, ok := strings.Cut(line, ">")
	if !ok || !strings.HasPrefix(head, "<") {
		return Record{}, errForm
	}
	priority, err := strconv.ParseUint(head[1:], 10, 32)
	if err != nil {
		return Record{}, errForm
	}
	r := Record{Facility: int(priority >> 3), Level: int(priority & 7)}
	if stamp, text, ok := cutStamp(rest); ok {
		r.Stamp, rest = gpu.Some(stamp), text
	}
	r.Text = bounded(rest)
	return r, nil
}

// cutStamp cuts "[  123.456789] ", and with it the "[  T12] " or "[C3] " of kernels that name the caller.
func cutStamp(s string) (stamp time.Duration, rest string, ok bool) {
	inner, rest, ok := strings.Cut(s, "]")
	inner, bracket := strings.CutPrefix(inner, "[")
	seconds, micros, dot := strings.Cut(strings.TrimLeft(inner, " "), ".")
	if !ok || !bracket || !dot || len(micros) != 6 {
		return 0, "", false
	}
	whole, err := strconv.ParseUint(seconds, 10, 63)
	if err != nil || whole > maxMicroseconds/1_000_000-1 {
		return 0, "", false
	}
	part, err := strconv.ParseUint(micros, 10, 20)
	if err != nil {
		return 0, "", false
	}
	if caller, after, ok := strings.Cut(rest, "]"); ok && isCaller(caller) {
		rest = after
	}
	return time.Duration(whole)*time.Second + time.Duration(part)*time.Microsecond, strings.TrimPrefix(rest, " "), true
}

// isCaller reports whether s begins with a bracket and then has the letter and the number of a task or a processor.
func isCaller(s string) bool {
	s, ok := strings.CutPrefix(s, "[")
	s = strings.TrimLeft(s, " ")
	if !ok || len(s) < 2 || s[0] != 'T' && s[0] != 'C' {
		return false
	}
	return strings.Trim(s[1:], "0123456789") == ""
}

// joinLines parses lines of syslog(2), and joins those that are one message.
func joinLines(lines []string) []Record {
	var records []Record
	for _, line := range lines {
		r, err := ParseSyslog(line)
		if err != nil {
			continue
		}
		if n := len(records); n > 0 && r.Stamp.Known() {
			last := &records[n-1]
			if last.Stamp == r.Stamp && last.Level == r.Level && last.Facility == r.Facility {
				last.Text = bounded(last.Text + "\n" + r.Text)
				continue
			}
		}
		records = append(records, r)
	}
	return records
}
