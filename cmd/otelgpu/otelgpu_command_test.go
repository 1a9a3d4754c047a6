// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// otelgpu runs one command. One that asks a server waits long for an answer, unless its arguments say otherwise.
func otelgpu(t *testing.T, args ...string) result {
	t.Helper()
	if len(args) > 0 && slices.Contains([]string{"get", "run", "top"}, args[0]) {
		args = slices.Insert(slices.Clone(args), 1, "--timeout=5m")
	}
	out, err := os.CreateTemp(t.TempDir(), "out")
	require.NoError(t, err)
	defer out.Close()
	nothing, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer nothing.Close()
	var errs strings.Builder
	code := execute(args, nothing, out, &errs)
	_, err = out.Seek(0, io.SeekStart)
	require.NoError(t, err)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	return result{code: code, out: string(text), err: errs.String()}
}
