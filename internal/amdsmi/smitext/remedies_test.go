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
