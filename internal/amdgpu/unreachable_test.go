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

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// silent makes the firmware of the first GPU stop answering. What the driver and the kernel know by themselves can still be read.
func silent(source *Source, answer error) {
	refuseOf(source, source.readers[0].address, func(name string) error {
		if file := filepath.Base(name); asksGPU(name) || strings.HasPrefix(file, "pp_dpm_") || file == "power1_cap" || file == "pwm1" {
			return answer
		}
		return nil
	})
}

// asksGPU reports whether the driver asks the GPU's firmware for a file.
func asksGPU(name string) bool {
	return name == "gpu_metrics" || strings.HasSuffix(name, "_busy_percent") || strings.HasSuffix(name, "_input") ||
		strings.HasSuffix(name, "_average")
}

// TestSilentFirmware: the driver still reports the memory and the link of a GPU that fell off the bus or whose firmware hangs. The GPU is
// failed nevertheless.
func TestSilentFirmware(t *testing.T) {
	for name, build := range amdgpusim.Machines() {
		if name == "apu" {
			continue // it has no name to be found by
		}
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, build(), withoutProcesses)
			whole := read(t, source)
			id, parts := whole.Devices[0].ID, len(source.readers[0].result.Partitions)
			silent(source, syscall.ETIME)
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
			assert.Len(t, source.readers[0].result.Partitions, parts)
			assert.Equal(t, gpu.Some[int64](1), node.Presence[gpu.Missing])
		})
	}
}

// TestInvalidArguments: an invalid argument means that a GPU lacks a quantity. A GPU that has answered before, or that lacks all its
// quantities, is unreachable.
func TestInvalidArguments(t *testing.T) { testUnsupported(t, syscall.EINVAL) }

// TestNotSupported: the same is true of the answer "not supported", which the driver gives for a GPU whose firmware it cannot reach.
func TestNotSupported(t *testing.T) { testUnsupported(t, syscall.EOPNOTSUPP) }

func testUnsupported(t *testing.T, answer error) {
	t.Helper()
	invalid := func(source *Source) {
		first := source.readers[0].address
		source.readFile = func(path string) ([]byte, error) {
			if strings.Contains(path, first) {
				return nil, answer
			}
			return sysfs.Read(path)
		}
	}
	for name, test := range map[string]struct {
		want     gpu.Group
		answered bool // before
		failed   bool
	}{
		"every quantity":                    {withoutProcesses, true, true},
		"every quantity, from the start":    {withoutProcesses, false, true},
		"two quantities":                    {gpu.GroupPower, true, true},
		"two quantities, from the start":    {gpu.GroupPower, false, false},
		"no quantity for which it is asked": {gpu.GroupMemory, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.MI100()
			tree, source, _ := simulate(t, m, test.want)
			read(t, source)
			if !test.answered {
				var err error
				source, err = New(Config{RootPath: tree.Root}, test.want)
				require.NoError(t, err)
				source.readFile = func(string) ([]byte, error) { return nil, answer }
			} else {
				invalid(source)
			}
			node := read(t, source)
			d := &node.Devices[0]
			if !test.failed {
				assert.Empty(t, d.Faults)
				return
			}
			require.Len(t, d.Faults, 1)
			assert.Equal(t, gpu.FaultUnreachable, d.Faults[0].Type)
			assert.Contains(t, d.Faults[0].Message, answer.Error())
			assert.Nil(t, node.Failure, "the driver answers")
			if test.answered {
				assert.Empty(t, node.Devices[1].Faults)
				assert.Equal(t, [3]int64{1, 1, 0}, presence(node))
			}
		})
	}
}

// TestNoFiles: a GPU that the driver lists without a file of sensors, use or memory is unreachable, from the start or later.
func TestNoFiles(t *testing.T) {
	tree, source, _ := simulate(t, amdgpusim.MI100(), withoutProcesses)
	id := read(t, source).Devices[0].ID
	_, fresh, _ := simulate(t, amdgpusim.MI100(), withoutProcesses, func(c *Config) { c.RootPath = tree.Root })
	first := source.readers[0].address
	for name, s := range map[string]*Source{"later": source, "from the start": fresh} {
		s.readFile = func(path string) ([]byte, error) {
			file := filepath.Base(path)
			if strings.Contains(path, first) && (asksGPU(file) || strings.HasPrefix(file, "mem_info_")) {
				return nil, syscall.ENOENT
			}
			return sysfs.Read(path)
		}
		node := read(t, s)
		require.Equal(t, id, node.Devices[0].ID, name)
		require.Len(t, node.Devices[0].Faults, 1, name)
		assert.Equal(t, gpu.FaultUnreachable, node.Devices[0].Faults[0].Type, name)
		assert.Empty(t, node.Devices[1].Faults, name)
		assert.Equal(t, [3]int64{1, 1, 0}, presence(node), name)
	}
}

// TestInvalidAsleep: a GPU that fell asleep during the read is not failed, whatever its driver answers.
func TestInvalidAsleep(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Status = "suspended"
	_, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = true })
	read(t, source)
	silent(source, syscall.EINVAL)
	node := read(t, source)
	assert.Empty(t, node.Devices[0].Faults)
	assert.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
}

// TestFellAsleepMeanwhile: later drivers refuse all quantities of a GPU that sleeps. That is not a failure.
func TestFellAsleepMeanwhile(t *testing.T) {
	m := amdgpusim.Radeon()
	m.Cards[0].Status = "suspended"
	_, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = true })
	read(t, source)
	silent(source, syscall.EPERM)
	node := read(t, source)
	assert.Empty(t, node.Devices[0].Faults)
	require.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
	require.ErrorContains(t, node.Problems[0].Err, "its driver does not wake it up")
}

// TestWakingUp: while the kernel wakes a GPU up, later drivers refuse its quantities as if it slept.
func TestWakingUp(t *testing.T) {
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.Radeon()
			tree, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			read(t, source)
			silent(source, syscall.EPERM)
			require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/power/runtime_status"), []byte("resuming\n"), 0o600))
			node := read(t, source)
			assert.Empty(t, node.Devices[0].Faults)
			assert.Equal(t, []string{"asleep"}, whats(node, node.Devices[0].ID))
		})
	}
}

// TestNotWokenUp: for a GPU that the kernel failed to wake up, every quantity is an invalid argument (rpm_resume), which otherwise means
// that the GPU does not have it. The GPU is failed.
func TestNotWokenUp(t *testing.T) {
	for name, wake := range map[string]bool{"left alone": false, "woken": true} {
		t.Run(name, func(t *testing.T) {
			m := amdgpusim.Radeon()
			m.Cards[0].Status = "error"
			_, source, _ := simulate(t, m, withoutProcesses, func(c *Config) { c.WakeDevices = wake })
			source.readFile = func(path string) ([]byte, error) {
				_, name := splitPath(path)
				if asksGPU(name) || strings.HasPrefix(name, "pp_dpm_") {
					return nil, syscall.EINVAL
				}
				return sysfs.Read(path)
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
