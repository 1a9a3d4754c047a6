// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// silent lets the firmware of a GPU answer nothing any more: what the driver and the kernel know by themselves is read all the same.
func silent(b *board, answer error) {
	bad := b.dir
	b.access = func(d *dir, name string, buf []byte) ([]byte, error) {
		file := filepath.Base(name)
		if d == bad && (file == "gpu_metrics" || strings.HasSuffix(file, "_busy_percent") || strings.HasPrefix(file, "pp_dpm_") ||
			strings.HasSuffix(file, "_input") || strings.HasSuffix(file, "_average") || file == "power1_cap" || file == "pwm1") {
			return nil, answer
		}
		return d.read(name, buf)
	}
}

// TestSilentFirmware: a GPU that fell off the bus, or whose firmware hangs, has its memory and its link still told by the driver.
// It is failed all the same.
func TestSilentFirmware(t *testing.T) {
	for name, build := range amdgpusim.Machines() {
		if name == "apu" {
			continue // it has no name to be found by
		}
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, build(), withoutProcesses)
			whole := read(t, source)
			id, parts := whole.Devices[0].ID, len(source.boards[0].out.partitions)
			silent(source.boards[0], syscall.ETIME)
			node := read(t, source)
			for i := range node.Devices {
				d := &node.Devices[i]
				if d.ID != id {
					continue
				}
				require.Len(t, d.Faults, 1)
				assert.Equal(t, gpu.FaultUnreachable, d.Faults[0].Type)
				assert.Contains(t, d.Faults[0].Message, "its firmware does not answer")
				assert.True(t, d.Memory.Usage.Known())
			}
			assert.Len(t, source.boards[0].out.partitions, parts)
			assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Missing])
		})
	}
}

// TestFellAsleepMeanwhile: later drivers refuse all readings of a GPU that sleeps. That is no failure of it.
func TestFellAsleepMeanwhile(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Status = "suspended"
	_, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = true })
	read(t, source)
	silent(source.boards[0], syscall.EPERM)
	node := read(t, source)
	assert.Empty(t, node.Devices[0].Faults)
	require.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
	require.ErrorIs(t, node.Problems[0].Err, errRefuses)
}

// TestWakingUp: while the kernel wakes a GPU up, later drivers refuse its readings as if it slept.
func TestWakingUp(t *testing.T) {
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.Radeon()
			tree, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			read(t, source)
			silent(source.boards[0], syscall.EPERM)
			require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/power/runtime_status"), []byte("resuming\n"), 0o600))
			node := read(t, source)
			assert.Empty(t, node.Devices[0].Faults)
			assert.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
		})
	}
}

// TestNotWokenUp: of a GPU that the kernel failed to wake up every reading is an invalid argument (rpm_resume), which otherwise means
// that there is no such reading. It is failed, and not one that tells little.
func TestNotWokenUp(t *testing.T) {
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.Radeon()
			m.Cards[0].Status = "error"
			_, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			source.access = func(d *dir, name string, buf []byte) ([]byte, error) {
				if asksGPU(name) || strings.HasPrefix(name, "pp_dpm_") {
					return nil, syscall.EINVAL
				}
				return d.read(name, buf)
			}
			node := read(t, source)
			d := &node.Devices[0]
			require.Len(t, d.Faults, 1)
			assert.Equal(t, gpu.FaultUnreachable, d.Faults[0].Type)
			assert.Contains(t, d.Faults[0].Message, "could not wake it up")
			assert.Equal(t, "0b7e4d2a91c60034", d.ID)
			assert.Equal(t, [3]int64{0, 1, 0}, presence(node))
		})
	}
}
