// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process gives itself any name, and rocm-smi prints it as it is. One byte that is no UTF-8 and OTLP back ends refuse the
// whole message.
func TestNameOfAProcessIsText(t *testing.T) {
	tables := parseROCmTables([]byte("====\nKFD process information:\nPID\tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\n" +
		"4242\ttr\xff\xfein\t1\t1073741824\t0\t76\n====\n"))
	require.Len(t, tables.processes, 1)
	assert.Equal(t, "tr\uFFFDin", tables.processes[0].name)
	for _, s := range []string{"\xff", "a\xc3", strings.Repeat("é", maxText), strings.Repeat("x", maxText-1) + "é"} {
		got := label(s)
		assert.True(t, utf8.ValidString(got), "%q", got)
		assert.LessOrEqual(t, len(got), maxText)
	}
}

// A GPU has some twenty blocks that count errors. What prints a million of them is broken, or means harm.
func TestBlocksAreBounded(t *testing.T) {
	var out strings.Builder
	out.WriteString("GPU[0]: \tRAS INFO\n")
	for i := range 100_000 {
		fmt.Fprintf(&out, "B%d ENABLED 1 1\n", i)
	}
	fmt.Fprintf(&out, "GPU[1]: \tRAS INFO\n%s ENABLED 1 1\nUMC ENABLED 1 1\n", strings.Repeat("x", 100_000))
	tables := parseROCmTables([]byte(out.String()))
	assert.Len(t, tables.errors[0], 2*maxBlocks)
	for _, e := range tables.errors[1] {
		assert.LessOrEqual(t, len(e.Block), maxText)
	}
}

// A document is small beside what is made of it: 16 MiB of {}, take half a gigabyte, of a collector that reads a thousand nodes
// with less than that.
func TestDocumentsOfTooManyValues(t *testing.T) {
	for name, parse := range map[string]func([]byte) error{
		"amd-smi":  func(out []byte) error { _, err := parseAMD(out); return err },
		"rocm-smi": func(out []byte) error { _, err := parseROCm(out); return err },
	} {
		for _, document := range []string{
			"[[{}" + strings.Repeat(",{}", maxValues) + "]]",
			`{"gpu_data":[{"gpu":0,"process_list":[0` + strings.Repeat(",0", maxValues) + "]}]}",
			`{"card0":{"a":""` + strings.Repeat(`,"b":""`, maxValues) + "}}",
		} {
			if name == "rocm-smi" && document[0] == '[' {
				continue
			}
			require.ErrorContains(t, parse([]byte("WARNING: something\n"+document)), "too many values", name)
		}
	}
}
