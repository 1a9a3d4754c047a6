// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

const withoutProcesses = gpu.GroupAll &^ (gpu.GroupProcesses | gpu.GroupProcessUtilization)

func read(t *testing.T, s *Source) *gpu.Node {
	t.Helper()
	node, err := s.Read(patient(t))
	require.NoError(t, err)
	return node
}

// patient returns a context with a deadline that no machine is too busy for. What hangs must be outstanding before: see untilHung.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// whats returns what the problems of a device concern.
func whats(node *gpu.Node, device string) []string {
	var result []string
	for _, p := range node.Problems {
		if p.Device == device {
			result = append(result, p.What)
		}
	}
	return result
}

func TestFailingFile(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		says   string
		absent bool // without a problem
	}{
		"busy":          {syscall.EBUSY, "device or resource busy", false},
		"firmware":      {syscall.EIO, "input/output error; its firmware does not answer", false},
		"timeout":       {syscall.ETIMEDOUT, "its firmware does not answer", false},
		"not permitted": {syscall.EPERM, "while it resets the GPU", false},
		"not supported": {syscall.EOPNOTSUPP, "", true},
		"no such value": {syscall.EINVAL, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.MI100()
			_, source, _ := simulate(t, m, withoutProcesses)
			source.readFile = func(path string) ([]byte, error) {
				_, name := splitPath(path)
				if strings.HasSuffix(name, "power1_average") || name == "gpu_metrics" {
					return nil, test.err
				}
				return sysfs.Read(path)
			}
			node := read(t, source)
			require.Len(t, node.Devices, 2)
			d := &node.Devices[0]
			assert.False(t, d.Power.Draw.Known())
			assert.Equal(t, gpu.Some(0.61), d.Utilization[gpu.TaskGeneral], "one file costs no other")
			assert.Equal(t, gpu.StateOK, d.State())
			if test.absent {
				assert.Empty(t, node.Problems)
				return
			}
			assert.Equal(t, []string{"gpu_metrics", "power"}, whats(node, d.ID))
			require.ErrorContains(t, node.Problems[1].Err, test.says)
			require.ErrorContains(t, node.Problems[1].Err, d.ID)
			require.ErrorContains(t, node.Problems[1].Err, "power1_average")
			require.ErrorIs(t, node.Problems[1].Err, test.err)
		})
	}
}

func TestEmptyAndGarbledFiles(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	dir := filepath.Join(tree.Root, "sys/class/drm/card1/device")
	for name, text := range map[string]string{
		"gpu_busy_percent": "", "mem_info_vram_used": "many\n", "gpu_metrics": "short", "ras/umc_err_count": "inaccessible\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	node := read(t, source)
	d := &node.Devices[1]
	assert.False(t, d.Utilization[gpu.TaskGeneral].Known())
	assert.False(t, d.Memory.Usage.Known())
	assert.True(t, d.Memory.Limit.Known())
	assert.Equal(t, []string{"gpu_metrics", "utilization", "memory", "errors"}, whats(node, d.ID))
	assert.Empty(t, whats(node, node.Devices[0].ID))
}

// TestNothingReadable: a GPU without a readable file is in the node, failed.
func TestNothingReadable(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	read(t, source)
	first := source.readers[0].address
	source.readFile = func(path string) ([]byte, error) {
		if strings.Contains(path, first) || strings.HasSuffix(path, "_link_speed") || strings.HasSuffix(path, "_link_width") {
			return nil, syscall.EIO
		}
		return sysfs.Read(path)
	}
	node := read(t, source)
	require.Len(t, node.Devices, 2)
	assert.Equal(t, gpu.StateFailed, node.Devices[0].State())
	assert.Equal(t, gpu.FaultUnreachable, node.Devices[0].Faults[0].Type)
	assert.Equal(t, "3a51e0c2d4b70010", node.Devices[0].ID)
	assert.Equal(t, gpu.StateOK, node.Devices[1].State())
	assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Visible])
	assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Missing])
	assert.LessOrEqual(t, len(node.Problems), 2*32)
}

func TestReadOfNoTime(t *testing.T) {
	_, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := source.Read(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
