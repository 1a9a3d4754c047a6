// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const (
	laptopGPU = "0000:0a:00.0" // the simulator's first
	secondGPU = "0000:0d:00.0"
	laptop    = "gpus = 1\n[gpu 0]\nboard = geforce"
	// uninitialised is what the kernel's driver says of a GPU that it has not initialised.
	uninitialised = "Model: \t\t NVIDIA GeForce RTX 4090\nGPU UUID: \t GPU-????????-????-????-????-????????????\nBus Location: \t 0000:0a:00.0\nDevice Minor: \t 0\n"
	game          = "[process game]\ngpu = 0\npid = 4711\nmemory = 1Gi\ntype = graphics\n"
)

// power sets what sysfs says of the runtime power management of a GPU.
func (b *bench) power(address, control, status string) {
	b.t.Helper()
	writeFile(b.t, filepath.Join(b.sys, "bus/pci/devices", address, "power/control"), control+"\n")
	writeFile(b.t, filepath.Join(b.sys, "bus/pci/devices", address, "power/runtime_status"), status+"\n")
}

// readAfter reads when time has passed. It returns the number of calls of the library too.
func (b *bench) readAfter(counters *nvmlsim.Counters, d time.Duration) (*gpu.Node, uint64) {
	b.t.Helper()
	b.clock = b.clock.Add(d)
	counters.Reset()
	return b.read(), counters.TotalCalls()
}

func openCounters(t *testing.T) *nvmlsim.Counters {
	t.Helper()
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	return counters
}

// asleep checks that a GPU is reported as asleep: with its identity, and without readings and faults.
func asleep(t *testing.T, n *gpu.Node, d *gpu.Device) {
	t.Helper()
	require.ErrorContains(t, problem(t, n, "asleep").Err, "asleep")
	assert.Empty(t, d.Faults)
	assert.False(t, d.Unread)
	assert.False(t, d.Temperature[gpu.SensorGPU].Known())
	assert.False(t, d.Power.Draw.Known())
	assert.Nil(t, n.Failure)
}

// laptopKernel suspends the GPU after some seconds in which NVML was closed and nothing else used it, and wakes it if NVML is called.
type laptopKernel struct {
	*bench
	counters *nvmlsim.Counters
	used     bool // by a game
	unused   time.Duration
	status   string
	woken    int // by the source
}

// readAfter reads when time has passed.
func (k *laptopKernel) readAfter(d time.Duration) *gpu.Node {
	k.t.Helper()
	if k.unused += d; k.used || k.driver.session != nil {
		k.unused = 0
	}
	k.status = "active"
	if k.unused >= 5*time.Second {
		k.status = "suspended"
	}
	k.power(laptopGPU, "auto", k.status)
	n, calls := k.bench.readAfter(k.counters, d)
	if calls > 0 {
		k.unused = 0
		if k.status == "suspended" {
			k.woken++
		}
	}
	return n
}

// TestLaptop: the GPU falls asleep while it is idle, sleeps on, and is read while it is used.
func TestLaptop(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 30 * time.Second} {
		t.Run(interval.String(), func(t *testing.T) {
			k := &laptopKernel{bench: start(t, laptop), counters: openCounters(t)}
			k.pci(laptopGPU, "nvidia", "")
			n := k.readAfter(0)
			healthy(t, n, 1)
			before := gpuAt(t, n, 0)
			for range 3 {
				for range 60 {
					n = k.readAfter(interval)
				}
				assert.Equal(t, "suspended", k.status)
				asleep(t, n, &n.Devices[0])
				assert.Equal(t, []any{before.ID, before.Name, before.Model}, []any{n.Devices[0].ID, n.Devices[0].Name, n.Devices[0].Model})
				assert.Equal(t, [2]int64{1, 0}, presence(n))

				k.used = true
				k.set(game)
				for range 60 {
					n = k.readAfter(interval)
					healthy(t, n, 1)
				}
				assert.NotEqual(t, before.Epoch, gpuAt(t, n, 0).Epoch, "without power its counters started again")
				before = gpuAt(t, n, 0)
				k.used = false
				k.set("")
			}
			assert.Zero(t, k.woken)
		})
	}
}

// TestNeverRead: the collector starts while the GPU sleeps. The library is not even loaded.
func TestNeverRead(t *testing.T) {
	b := start(t, laptop)
	b.pci(laptopGPU, "nvidia", "")
	b.power(laptopGPU, "auto", "suspended")
	b.information(laptopGPU, uninitialised)
	n := b.read()
	require.Len(t, n.Devices, 1)
	asleep(t, n, &n.Devices[0])
	assert.Equal(t, laptopGPU, n.Devices[0].Info.PCIAddress)
	assert.Equal(t, "NVIDIA GeForce RTX 4090", n.Devices[0].Model)
	assert.Nil(t, b.driver.lib)
	assert.Equal(t, [2]int64{1, 0}, presence(n))
	b.power(laptopGPU, "auto", "active")
	healthy(t, b.read(), 1)
}

// TestStaysOpen: nothing is closed if something else keeps a GPU awake anyway.
func TestStaysOpen(t *testing.T) {
	for name, c := range map[string]struct {
		control, more, power string
		option               func(*Config)
	}{
		"the kernel never suspends it": {control: "on"},
		"persistence mode":             {control: "auto", more: "persistence = 1\n"},
		"a display":                    {control: "auto", more: "display = 1\n"},
		"a process":                    {control: "auto", more: game},
		"processes are not listed":     {control: "auto", more: "[fault f]\nfunction = nvmlDeviceGetComputeRunningProcesses\nreturn = UNKNOWN\n"},
		"the driver never suspends it": {control: "auto", power: "Runtime D3 status:          Disabled by default\n"},
		"wake_devices":                 {control: "auto", option: func(c *Config) { c.WakeDevices = true }},
	} {
		t.Run(name, func(t *testing.T) {
			option := c.option
			if option == nil {
				option = func(*Config) {}
			}
			b := start(t, laptop+"\n"+c.more, option)
			b.pci(laptopGPU, "nvidia", "")
			b.power(laptopGPU, c.control, "active")
			if c.power != "" {
				writeFile(t, filepath.Join(b.proc, "driver/nvidia/gpus", laptopGPU, "power"), c.power)
			}
			b.read()
			assert.NotNil(t, b.driver.session)
		})
	}
}

// TestProcessesNotWanted: a GPU that is used is not idle although its processes are not reported.
func TestProcessesNotWanted(t *testing.T) {
	b := start(t, laptop+"\n"+game, gpu.GroupTemperature)
	b.pci(laptopGPU, "nvidia", "")
	b.power(laptopGPU, "auto", "active")
	assert.Empty(t, b.read().Processes)
	assert.NotNil(t, b.driver.session)
	b.set("[process game]\npresent = false")
	b.read()
	assert.Nil(t, b.driver.session)
}

func TestWokenByChoice(t *testing.T) {
	b := start(t, laptop, func(c *Config) { c.WakeDevices = true })
	b.pci(laptopGPU, "nvidia", "")
	b.power(laptopGPU, "auto", "suspended")
	n := b.read()
	healthy(t, n, 1)
	assert.True(t, gpuAt(t, n, 0).Temperature[gpu.SensorGPU].Known())
}

// TestDoesNotFallAsleep: a GPU that could sleep and does not is left alone for some seconds, then read as before, and left alone again ever less often.
func TestDoesNotFallAsleep(t *testing.T) {
	counters := openCounters(t)
	b := start(t, laptop)
	b.pci(laptopGPU, "nvidia", "")
	b.power(laptopGPU, "auto", "active")
	epoch := b.read().Devices[0].Epoch
	n, calls := b.readAfter(counters, fallAsleepTime-time.Second)
	assert.Zero(t, calls)
	asleep(t, n, &n.Devices[0])
	for _, d := range []time.Duration{time.Second, sleepPolicy.First - time.Second} {
		n, _ = b.readAfter(counters, d)
		healthy(t, n, 1)
		assert.NotNil(t, b.driver.session)
	}
	assert.NotEqual(t, epoch, n.Devices[0].Epoch, "the driver gave the GPU up, and its counters started again")
	epoch = n.Devices[0].Epoch
	b.readAfter(counters, time.Second)
	assert.Nil(t, b.driver.session, "tried again")
	n, _ = b.readAfter(counters, 30*time.Second)
	healthy(t, n, 1)
	assert.NotEqual(t, epoch, n.Devices[0].Epoch, "although it did not fall asleep")
}

// TestSomeAsleep: NVML is open for the GPU that is awake, and the handle of the other is not requested.
func TestSomeAsleep(t *testing.T) {
	counters := openCounters(t)
	b := start(t, "gpus = 2\n[gpu 0]\nboard = geforce\n[gpu 1]\nboard = geforce")
	b.pci(laptopGPU, "nvidia", "")
	b.pci(secondGPU, "nvidia", "")
	b.information(laptopGPU, uninitialised)
	b.power(laptopGPU, "auto", "suspended")
	b.power(secondGPU, "auto", "active")
	n, _ := b.readAfter(counters, 0)
	assert.Equal(t, uint64(1), counters.Calls("nvmlDeviceGetUUID"))
	require.Len(t, n.Devices, 2)
	assert.Equal(t, []string{secondGPU, laptopGPU}, []string{n.Devices[0].Info.PCIAddress, n.Devices[1].Info.PCIAddress})
	assert.True(t, n.Devices[0].Temperature[gpu.SensorGPU].Known())
	asleep(t, n, &n.Devices[1])
	assert.Equal(t, [2]int64{2, 0}, presence(n))

	b.power(laptopGPU, "auto", "active")
	n, _ = b.readAfter(counters, fallAsleepTime)
	healthy(t, n, 2)
	b.readAfter(counters, time.Hour)
	assert.Nil(t, b.driver.session, "both are idle")
	b.power(laptopGPU, "auto", "suspended")
	b.power(secondGPU, "auto", "suspended")
	n, calls := b.readAfter(counters, 30*time.Second)
	assert.Zero(t, calls)
	assert.Len(t, n.Devices, 2)
}
