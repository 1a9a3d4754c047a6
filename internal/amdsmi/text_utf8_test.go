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
