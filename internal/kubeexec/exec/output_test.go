// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func TestOutput(t *testing.T) {
	o := newOutput()
	for text, writer := range map[string]io.Writer{"one, and half": o.Stdout(), "hm": o.Stderr(), "{}": &o.status} {
		_, err := io.WriteString(writer, text)
		require.NoError(t, err)
	}
	o.Begin()
	// A later exec of the same read does not overwrite the output of the earlier ones, and gets what they have left of the bounds.
	first := o.stdout.data
	o.next()
	_, err := io.WriteString(o.Stdout(), "two")
	require.NoError(t, err)
	assert.Equal(t, "one, and half", string(first))
	assert.Equal(t, "two", string(o.stdout.data))
	assert.Equal(t, maxStdout-len(first), o.stdout.limit)
	assert.Equal(t, maxStderr-len("hm"), o.stderr.limit)
	assert.Empty(t, o.stderr.data)
	assert.Empty(t, o.status.data)
	assert.False(t, o.started)
	o.restart()
	assert.Empty(t, o.stdout.data)
	assert.Equal(t, maxStdout-len(first), o.stdout.limit)

	o.stdout.truncated, o.started = true, true
	o.reset()
	assert.Equal(t, newOutput(), o)
}

// Output beyond the bound is dropped and noted, both when reading and when writing. Output of exactly the bound fits.
func TestBounded(t *testing.T) {
	for text, truncated := range map[string]bool{"": false, "1234": false, "12345": false, "123456": true, strings.Repeat("1", 1<<20): true} {
		b, overflows := bounded{limit: 5}, 0
		require.NoError(t, b.readFrom(strings.NewReader(text), func() { overflows++ }))
		assert.Equal(t, text[:min(len(text), 5)], string(b.data))
		assert.Equal(t, truncated, b.truncated)
		assert.Equal(t, truncated, overflows == 1)

		b = bounded{limit: 5}
		n, err := b.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		n, err = b.Write([]byte(text))
		require.NoError(t, err)
		assert.Equal(t, len(text), n)
		assert.Equal(t, (text + text)[:min(2*len(text), 5)], string(b.data))
		assert.Equal(t, 2*len(text) > 5, b.truncated)
	}
}

// What a command prints is held once: the buffer never exceeds the bound, and the results of several commands share it.
func TestOutputIsHeldOnce(t *testing.T) {
	assert.Equal(t, 8<<20, maxStdout, "as of a tool on this machine")
	b := bounded{limit: maxStdout}
	chunk := make([]byte, 32<<10)
	for range 2 * maxStdout / len(chunk) {
		_, _ = b.Write(chunk)
	}
	assert.Len(t, b.data, maxStdout)
	assert.Equal(t, maxStdout, cap(b.data))

	r, _ := newRunner(func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
		if argv[0] != "nvidia-smi" {
			return 0, &StartError{Message: exectest.NotStarted(argv[0]).Error()}
		}
		_, _ = stdout.Write(make([]byte, maxStdout/3))
		return 0, nil
	})
	results, err := r.Run(soon(t), smiCommand("-a"), smiCommand("-b"), smiCommand("-c"), smiCommand("-d"))
	require.NoError(t, err)
	size := 0
	for i := range results {
		assert.Equal(t, i == 3, results[i].Truncated)
		size += cap(results[i].Stdout)
	}
	assert.Equal(t, maxStdout, size)
}
