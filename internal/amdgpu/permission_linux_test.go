// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

const (
	rootVariable = "GPURECEIVER_TEST_ROOT"
	nobody       = 65534
)

// TestWithoutPermission reads a machine as a user who may not see the open files of others. The processes that KFD shows remain, and one
// problem says so.
func TestWithoutPermission(t *testing.T) {
	if root := os.Getenv(rootVariable); root != "" {
		withoutPermission(t, root)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	m := amdgpusim.MI100()
	m.Processes = append(m.Processes, amdgpusim.Process{PID: 77, Name: "game", Files: []amdgpusim.File{{
		FD: 3, Target: "/dev/dri/renderD128", Client: &amdgpusim.Client{ID: 5, Address: m.Cards[0].Address, Keys: []string{amdgpusim.VRAM(7)}},
	}}})
	root := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	tree, err := amdgpusim.Write(root, m)
	require.NoError(t, err)
	for _, dir := range []string{"proc/77/fd", "proc/4242/fd"} {
		require.NoError(t, os.Chmod(tree.Path(dir), 0o500))
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestWithoutPermission$", "-test.v")
	cmd.Env = append(os.Environ(), rootVariable+"="+tree.Root)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "--- PASS: TestWithoutPermission")
}

func withoutPermission(t *testing.T, root string) {
	t.Helper()
	source, err := New(Config{RootPath: root}, gpu.GroupAll)
	require.NoError(t, err)
	for range 2 {
		node, err := source.Read(context.Background())
		require.NoError(t, err)
		require.Len(t, node.Problems, 1, "one for all processes")
		assert.Equal(t, "processes", node.Problems[0].What)
		require.ErrorContains(t, node.Problems[0].Err, "CAP_SYS_PTRACE")
		require.Len(t, node.Processes, 1)
		assert.Equal(t, int64(4242), node.Processes[0].PID)
		assert.Equal(t, gpu.Some[int64](19_000_000_000), node.Processes[0].Memory)
		assert.Equal(t, gpu.ProcessCompute, node.Processes[0].Type)
		assert.Equal(t, gpu.Some(0.61), node.Devices[0].Utilization[gpu.TaskGeneral])
	}
	require.NoError(t, source.Close())
}
