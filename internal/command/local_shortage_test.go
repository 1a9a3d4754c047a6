// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
)

// A tool that cannot be started because the collector is not allowed to open another file or start another process is not missing, and its
// GPUs are not lost.
func TestShortageIsNoMissingTool(t *testing.T) {
	path := filepath.Join(t.TempDir(), executable(NvidiaSMI))
	commandtest.WriteScript(t, path, "")
	l, err := NewLocal(NvidiaSMI, path)
	require.NoError(t, err)
	for _, short := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		l.start = func(context.Context, spec) (process, error) {
			return nil, &os.PathError{Op: "fork/exec", Path: path, Err: short}
		}
		_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
		require.ErrorIs(t, err, short)
		require.ErrorIs(t, err, ErrShortage)
		require.NotErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "raise")
	}
	l.start = func(context.Context, spec) (process, error) { return nil, syscall.ENOEXEC }
	_, err = l.Run(t.Context(), Command{Tool: NvidiaSMI})
	require.ErrorIs(t, err, ErrNotFound)
}
