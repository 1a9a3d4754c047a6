// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	err := Failure(&command.Result{ExitCode: 1, Stderr: []byte("Traceback (most recent call last):\n  File\nKeyError: 'x'\n")}, ErrNotJSON)
	require.EqualError(t, err, "exit code 1: output is not JSON: KeyError: 'x'")
	err = Failure(&command.Result{ExitCode: 3, Stdout: []byte(strings.Repeat("long\n", 100))}, nil)
	require.ErrorContains(t, err, "exit code 3: long long")
	assert.Less(t, len(err.Error()), 200)
}

func TestFailureByWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"ERROR:root:Driver not initialized (amdgpu not found in modules)": ErrNoDriver,
		"Unable to detect any GPU devices":                                ErrNoDevice,
		"WARNING: No JSON data to report":                                 ErrNoDevice,
		"10 | AMDSMI_STATUS_NO_PERM - Permission Denied":                  ErrAccess,
	} {
		require.ErrorIs(t, Failure(&command.Result{ExitCode: 1, Stderr: []byte(text)}, ErrNotJSON), want, text)
		require.ErrorIs(t, Failure(&command.Result{Stdout: []byte(text)}, nil), want, text)
	}
	assert.True(t, IsException([]byte("  File\namdsmi.AmdSmiLibraryException: 10\n")))
	assert.False(t, IsException([]byte("ERROR: no such thing\n")))
}
