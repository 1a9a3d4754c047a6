// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
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

// TestWithoutPermission reads a machine as a user who is not allowed to see the open files of others. The processes of KFD remain, and one
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
	runAsNobody(t, tree.Root)
}

// runAsNobody runs this test again as a user without permissions, with the machine at root.
func runAsNobody(t *testing.T, root string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), rootVariable+"="+root)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "--- PASS: "+t.Name())
}

// TestDirectoryNotPermitted: a GPU that this process may not look for is unread, not lost.
func TestDirectoryNotPermitted(t *testing.T) {
	m := amdgpusim.MI100()
	drm, device := "sys/class/drm", m.Cards[0].Dir()
	if root := os.Getenv(rootVariable); root != "" {
		for _, dir := range []string{drm, device} {
			source, err := New(Config{RootPath: root}, withoutProcesses)
			require.NoError(t, err)
			read(t, source)
			require.NoError(t, os.Chmod(filepath.Join(root, dir), 0))
			node := read(t, source)
			require.Len(t, node.Devices, 2)
			requireUnread(t, &node.Devices[0], "3a51e0c2d4b70010")
			assert.Equal(t, dir == drm, node.Devices[1].Unread)
			assert.Equal(t, dir == drm, node.Failure != nil)
			if dir != drm { // which is the directory of a function of the PCI bus
				assert.Equal(t, [3]int64{1, -1, -1}, presence(node))
			} else {
				assert.Equal(t, [3]int64{-1, 2, 0}, presence(node))
				assert.Equal(t, gpu.FailurePermission, node.Failure.Reason)
				require.ErrorContains(t, node.Failure, "sys/class/drm: permission denied")
				fresh, err := New(Config{RootPath: root}, withoutProcesses)
				require.NoError(t, err)
				assert.Equal(t, gpu.FailurePermission, read(t, fresh).Failure.Reason)
			}
			require.NoError(t, os.Chmod(filepath.Join(root, dir), 0o755))
			node = read(t, source)
			assert.Nil(t, node.Failure)
			assert.Equal(t, [3]int64{2, 0, 0}, presence(node))
			assert.Empty(t, node.Problems)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	root := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755))
	tree, err := amdgpusim.Write(root, m)
	require.NoError(t, err)
	for _, dir := range []string{drm, device} {
		require.NoError(t, os.Chown(tree.Path(dir), nobody, nobody))
	}
	runAsNobody(t, tree.Root)
}

func withoutPermission(t *testing.T, root string) {
	t.Helper()
	source, err := New(Config{RootPath: root}, gpu.GroupAll)
	require.NoError(t, err)
	for range 2 {
		node := read(t, source)
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
