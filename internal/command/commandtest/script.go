// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package commandtest writes the programs that tests run in place of the vendors' tools.
package commandtest

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// WriteScript writes a shell script that can be run immediately.
//
// No process starts while the file is open for writing: a process that another test starts in that moment inherits the
// open file until its own exec, and the kernel refuses to run a file that is open for writing (ETXTBSY).
func WriteScript(t testing.TB, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // it is run
}
