// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseKmsg(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]Record{
		"3,1234,5140900,-;NVRM: a\n":                             {Level: 3, Stamp: gpu.Some(5140900 * time.Microsecond), Text: "NVRM: a"},
		"14,1,0,-,caller=T42;hello":                              {Facility: 1, Level: 6, Stamp: gpu.Some(time.Duration(0)), Text: "hello"},
		"6,1,7,c,future=1;a\\;b":                                 {Level: 6, Stamp: gpu.Some(7 * time.Microsecond), Text: `a\;b`},
		"3,1,7,-;x\\x0ay \\x5c \\xz \\x\n":                       {Level: 3, Stamp: gpu.Some(7 * time.Microsecond), Text: "x\ny \\ \\xz \\x"},
		"3,1,7,-;x\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n": {Level: 3, Stamp: gpu.Some(7 * time.Microsecond), Text: "x", Device: "+pci:0000:03:00.0"},
	} {
		got, err := ParseKmsg([]byte(record))
		require.NoError(t, err, record)
		assert.Equal(t, want, got, record)
	}
	for _, record := range []string{"", ";", "3,1,7;x", "a,1,7,-;x", "3,1,x,-;x", "3,1,-7,-;x", "3,1,9223372036854775807,-;x", "no header"} {
		_, err := ParseKmsg([]byte(record))
		require.ErrorIs(t, err, errForm, record)
	}
	long, err := ParseKmsg([]byte("3,1,7,-;" + strings.Repeat("a", 1<<20)))
	require.NoError(t, err)
	assert.Len(t, long.Text, maxText)
}

func TestParseSyslog(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Record{
		"<3>[    0.000000] a":              {Level: 3, Stamp: gpu.Some(time.Duration(0)), Text: "a"},
		"<6>[  123.456789] NVRM: [x] y":    {Level: 6, Stamp: gpu.Some(123456789 * time.Microsecond), Text: "NVRM: [x] y"},
		"<12>[9876543.000001][  T42] a":    {Facility: 1, Level: 4, Stamp: gpu.Some(9876543000001 * time.Microsecond), Text: "a"},
		"<4>[    1.000000][    C3] a":      {Level: 4, Stamp: gpu.Some(time.Second), Text: "a"},
		"<4>[    1.000000] [drm] a":        {Level: 4, Stamp: gpu.Some(time.Second), Text: "[drm] a"},
		"<4>[    1.000000][drm:x [y]] a":   {Level: 4, Stamp: gpu.Some(time.Second), Text: "[drm:x [y]] a"},
		"<4>no time":                       {Level: 4, Text: "no time"},
		"<4>[drm] no time":                 {Level: 4, Text: "[drm] no time"},
		"<4>[99999999999999.000000] later": {Level: 4, Text: "[99999999999999.000000] later"},
		"<4>":                              {Level: 4},
	} {
		got, err := ParseSyslog(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	for _, line := range []string{"", "a", "<a>b", "<-1>b", "x<3>b", "<3"} {
		_, err := ParseSyslog(line)
		require.ErrorIs(t, err, errForm, line)
	}
}

// A message of several lines has the same prefix on each. Without a time it cannot be distinguished from several messages.
func TestLinesOfOneMessage(t *testing.T) {
	t.Parallel()
	uptime := gpu.Some(1500 * time.Millisecond)
	assert.Equal(t, []Record{
		{Level: 3, Stamp: uptime, Text: "a\nb"}, {Level: 4, Stamp: uptime, Text: "c"}, {Level: 4, Stamp: gpu.Some(2 * time.Second), Text: "d"}, {Level: 4, Text: "e"}, {Level: 4, Text: "f"},
	}, joinLines([]string{
		"<3>[    1.500000] a", "<3>[    1.500000] b", "<4>[    1.500000] c", "broken", "<4>[    2.000000] d", "<4>e", "<4>f",
	}))
}
