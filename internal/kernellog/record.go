// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxText bounds the text of a record, in bytes. The kernel's own bound is lower.
const maxText = 8192

// Record is one message of the kernel's log.
type Record struct {
	Facility int                    // 0: the kernel; all others are of programs that wrote to the log
	Level    int                    // 0 (emergency) to 7 (debug)
	Stamp    gpu.Opt[time.Duration] // the kernel's clock, which starts at boot; absent if printk adds no time
	Text     string                 // may have several lines
	Device   string                 // what the kernel says that the message is about: +pci:0000:03:00.0; mostly empty
}

var errForm = errors.New("not a record of the kernel's log")

// ParseKmsg parses what one read of /dev/kmsg returns: "priority,sequence,microseconds,flags[,…];text", then lines " KEY=value". Bytes that are
// not printable are escaped as \xNN.
func ParseKmsg(record []byte) (Record, error) {
	header, rest, ok := strings.Cut(string(record), ";")
	fields := strings.Split(header, ",")
	if !ok || len(fields) < 4 {
		return Record{}, errForm
	}
	priority, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil {
		return Record{}, errForm
	}
	stamp, err := strconv.ParseUint(fields[2], 10, 63)
	if err != nil || stamp > maxMicroseconds {
		return Record{}, errForm
	}
	text, properties, _ := strings.Cut(rest, "\n")
	r := Record{
		Facility: int(priority >> 3), Level: int(priority & 7), Stamp: gpu.Some(time.Duration(stamp) * time.Microsecond), Text: unescape(bounded(text)),
	}
	for property := range strings.Lines(properties) {
		if value, ok := strings.CutPrefix(property, " DEVICE="); ok {
			r.Device = unescape(strings.TrimSuffix(value, "\n"))
		}
	}
	return r, nil
}

// maxMicroseconds is the largest time that a Duration can hold.
const maxMicroseconds = (1<<63 - 1) / 1000

func bounded(text string) string { return text[:min(len(text), maxText)] }

// unescape replaces \xNN by the byte. Other text stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		code, err := strconv.ParseUint(after[:min(len(after), 2)], 16, 8)
		if err != nil || len(after) < 2 || after[0] == '+' {
			b.WriteString(`\x`)
			s = after
			continue
		}
		b.WriteByte(byte(code))
		s = after[2:]
	}
}
