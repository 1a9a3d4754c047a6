// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A quoted message has a limited length.
func TestQuotedIsShortened(t *testing.T) {
	long := strings.Repeat("x", 120)
	assert.Equal(t, long, quoted([]byte(" "+long+" ")))
	assert.Equal(t, long+"…", quoted([]byte(long+"x")))
	assert.Equal(t, long[1:]+"…", quoted([]byte(long[1:]+"é")), "not in the middle of a character")
	require.Less(t, len(quoted([]byte(long+long))), math.MaxUint8)
}

func TestTrapWindowsLineEndsAndByteOrderMarks(t *testing.T) {
	const table = "index, uuid, memory.used [MiB], name\r\n0, GPU-1, 5 MiB, A\r\n"
	var little []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + table)) {
		little = append(little, byte(u), byte(u>>8))
	}
	var big []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + table)) {
		big = append(big, byte(u>>8), byte(u))
	}
	for _, data := range [][]byte{[]byte(table), []byte("\uFEFF" + table), little, big} {
		log, ok := QueryGPU(data, nil)
		require.True(t, ok)
		require.Len(t, log.GPUs, 1)
		assert.Equal(t, "A", log.GPUs[0].Device.Model)
		assert.Equal(t, gpu.Some(int64(5<<20)), log.GPUs[0].Device.Memory.Usage)
	}
	log, err := XML([]byte("\uFEFF" + strings.ReplaceAll(string(testdata(t, "xml/v9-384.xml")), "\n", "\r\n")))
	require.NoError(t, err)
	want, err := XML(testdata(t, "xml/v9-384.xml"))
	require.NoError(t, err)
	assert.Equal(t, want, log)
}
