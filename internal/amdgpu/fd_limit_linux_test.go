// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestNoFileCanBeOpened: a collector that may open no further file, or only a few, reports a failure and no lost GPU. Once it may open
// files again, it reads them as before.
func TestNoFileCanBeOpened(t *testing.T) {
	for _, fresh := range []bool{false, true} { // whether the first read has few files already
		for few := range 12 {
			root := t.TempDir()
			_, err := amdgpusim.Write(root, amdgpusim.MI100())
			require.NoError(t, err)
			source, err := New(Config{RootPath: root}, gpu.GroupAll)
			require.NoError(t, err)
			if !fresh {
				_, err := source.Read(patient(t))
				require.NoError(t, err)
			}
			allow := limitFiles(t, few)
			failed := 0
			for range 3 {
				node, err := source.Read(patient(t))
				if err == nil && node.Failure != nil {
					requireUnread(t, &node.Devices[0], "3a51e0c2d4b70010")
					assert.Equal(t, [3]int64{-1, -1, -1}, presence(node))
					assert.Len(t, node.Problems, 1)
					err = node.Failure
				} else if err != nil {
					assert.True(t, fresh, "no GPU is known")
				}
				if err != nil {
					failed++
					require.ErrorContains(t, err, "too many open files")
					require.ErrorContains(t, err, "raise")
					continue
				}
				assertWell(t, node)
			}
			if few == 0 {
				assert.Equal(t, 3, failed)
			}
			allow()
			node, err := source.Read(patient(t))
			require.NoError(t, err)
			assertWell(t, node)
			assert.Empty(t, node.Problems)
			require.NoError(t, source.Close())
		}
	}
}

func assertWell(t *testing.T, node *gpu.Node) {
	t.Helper()
	require.Len(t, node.Devices, 2)
	for i := range node.Devices {
		assert.Empty(t, node.Devices[i].Faults)
		assert.NotEmpty(t, node.Devices[i].ID)
		assert.True(t, node.Devices[i].Power.Draw.Known(), "a sensor")
	}
	assert.Equal(t, gpu.Some[int64](2), node.Presence[gpu.Visible])
	assert.Equal(t, gpu.Some[int64](0), node.Presence[gpu.Missing])
}

// limitFiles lets this process open only a few further files until the returned function is called.
func limitFiles(t *testing.T, few int) (allow func()) {
	t.Helper()
	const filled = 256
	var descriptors []int
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		descriptors = append(descriptors, fd)
		if fd >= filled {
			break
		}
	}
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	now := before
	now.Cur = uint64(filled + 1 + few)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &now))
	allow = func() {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		for _, fd := range descriptors {
			_ = unix.Close(fd)
		}
		descriptors = nil
	}
	t.Cleanup(allow)
	return allow
}
