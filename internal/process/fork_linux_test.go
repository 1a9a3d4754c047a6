// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program that is just being started has a copy of every descriptor, so that one that we have closed is watched on. Its number is
// another file's by the time that the process ends.
func TestEndOfAProcessClosesNoOtherFile(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	all, pids := shells(t, 1)
	describe(r, pids...)
	life := r.processes[pids[0]].kept.life
	require.NotEqual(t, noLife, life, "this kernel has descriptors of processes")
	forked, err := unix.FcntlInt(uintptr(life), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(forked) }()

	r.release(r.processes[pids[0]])
	other, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	require.NoError(t, unix.Dup3(int(other.Fd()), life, unix.O_CLOEXEC))
	defer func() { _ = unix.Close(life) }()

	require.NoError(t, all[0].cmd.Process.Kill())
	require.Error(t, all[0].cmd.Wait())
	r.watch()
	_, err = unix.FcntlInt(uintptr(life), unix.F_GETFD, 0)
	require.NoError(t, err, "a file of somebody else was closed")
}
