// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requiredEnv is the value of a variable that run.sh sets.
func requiredEnv(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skip(variable + " is not set; test/release/run.sh sets it where it can be had")
	}
	return value
}

// first is the directory of the first build.
func first(t *testing.T) string { return requiredEnv(t, "RELEASE_FIRST") }

// one is the only file of the release that the pattern matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	got, err := filepath.Glob(filepath.Join(first(t), pattern))
	require.NoError(t, err)
	require.Len(t, got, 1, pattern)
	return got[0]
}

// output is what a program prints.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v: %s%s", program, args, out, errs.String())
	return string(out)
}
