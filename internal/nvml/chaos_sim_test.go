// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// chaotic is a machine of four GPUs. GPU 0 is partitioned.
const chaotic = `
gpus = 4
time = manual
[gpu *]
board = h100
util.gpu = 60
power = 330
violation.power = counter(12, 0.21)
[gpu 0]
mig = 1
[gpu 1]
ecc.volatile.corrected = counter(3, 0.1)
[gpu 2]
board = a100
pcie.tx.bytes = counter(912345678901, 10M)
pcie.rx.bytes = counter(100, 9M)
[gpu 3]
board = turing
[process large]
gpu = 0
mig = 0
pid = 51001
memory = 30Gi
[process small]
gpu = 0
mig = 2
pid = 51002
memory = 2Gi
[process whole]
gpu = 1
pid = 51003
memory = 22Gi
sm = 55
[process two]
gpu = 1,2
pid = 51004
memory = 3Gi
sm = 5
[process fourth]
gpu = 3
pid = 51005
memory = 1Gi
`

const chaoticGPUs = 4

var chaoticInstances = [3]string{
	"profile = 3g.40gb\ngi = 2\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 1",
}

var chaoticAddresses = [chaoticGPUs]string{"0000:0a:00.0", "0000:0d:00.0", "0000:10:00.0", "0000:13:00.0"}

// chaos is a machine, and what is wrong with it at present.
type chaos struct {
	*bench
	history *histories.History
	rng     *rand.Rand
	seconds float64
	applied float64       // the driver's time
	ours    atomic.Int64  // our clock, which a call that hangs reads as well
	jump    time.Duration // by how much our clock is ahead of the driver's
	uuids   [chaoticGPUs]int
	faults  [chaoticGPUs]string
	system  string // a fault of the whole driver
	absent  [chaoticGPUs]bool
	offBus  [chaoticGPUs]bool
	lent    [chaoticGPUs]bool // to a virtual machine
	removed [3]bool           // instances of GPU 0
	places  [3]int            // which of them has which index
	whole   bool              // MIG is off
	order   string
	driver  int
	events  int
	hang    atomic.Pointer[chan struct{}] // closed when the driver's files do not hang any more; nil: they do not

	touched   [chaoticGPUs]bool // since there was no fault
	exchanged bool              // one of them for another

	counters map[string]lastTotal
}

func (c *chaos) time() time.Time { return manualEpoch.Add(time.Duration(c.ours.Load())) }

func (c *chaos) uuid(i int) string {
	return fmt.Sprintf("GPU-6f1c2a%02x-5eed-4a11-8c0d-%012x", i, c.uuids[i])
}

func (c *chaos) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "now = %g\ndriver.version = 580.%d\n%s\n", c.seconds, c.driver, c.order)
	for i := range chaoticGPUs {
		fmt.Fprintf(&b, "[gpu %d]\nuuid = %s\npresent = %v\n", i, c.uuid(i), !c.absent[i])
		if i == 0 && c.whole {
			b.WriteString("mig = 0\n")
		}
		if c.faults[i] != "" {
			fmt.Fprintf(&b, "[fault gpu%d]\ngpu = %d\n%s\n", i, i, c.faults[i])
		}
	}
	for i, n := range c.places {
		fmt.Fprintf(&b, "[mig 0 %d]\n%s\nuuid = MIG-3b7d9e%02x-5eed-5a11-9e0f-%012x\npresent = %v\n",
			i, chaoticInstances[n], n, c.uuids[0], !c.removed[n])
	}
	fmt.Fprintf(&b, "[process large]\nmig = %d\n[process small]\nmig = %d\n", slices.Index(c.places[:], 0), slices.Index(c.places[:], 2))
	if c.system != "" {
		fmt.Fprintf(&b, "[fault system]\n%s\n", c.system)
	}
	if c.events > 0 {
		fmt.Fprintf(&b, "[event e%d]\ngpu = %d\nxid = %d\n", c.events, c.events%chaoticGPUs, 13+c.events%3)
	}
	return b.String()
}

// apply makes the machine what c describes.
func (c *chaos) apply() {
	c.ours.Store(int64(c.seconds*float64(time.Second)) + int64(c.jump))
	for i, address := range chaoticAddresses {
		path := filepath.Join(c.sys, "bus/pci/devices", address)
		switch {
		case c.offBus[i]:
			require.NoError(c.t, os.RemoveAll(path))
		case c.lent[i]:
			c.pci(address, "vfio-pci", "0")
		default:
			c.pci(address, "nvidia", "0")
		}
		c.information(address, "Model: NVIDIA\nGPU UUID: "+c.uuid(i)+"\nDevice Minor: "+strconv.Itoa(i)+"\n")
	}
	c.set(c.text())
	c.applied = c.seconds
}

func pick[T any](rng *rand.Rand, choices ...T) T { return choices[rng.IntN(len(choices))] }

var chaoticFunctions = []string{
	"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlDeviceGetSerial", "nvmlDeviceGetMinorNumber",
	"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex",
	"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetFieldValues", "nvmlDeviceGetSamples",
	"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetComputeRunningProcesses",
	"nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetProcessUtilization", "nvmlGpm*", "nvmlDeviceRegisterEvents",
	"nvmlDeviceGetSupportedEventTypes", "nvmlDeviceGetNumFans", "nvmlDeviceGetMemoryErrorCounter",
}

// steps are what can happen.
func (c *chaos) steps() []histories.Step {
	rng := c.rng
	return []histories.Step{
		{Name: "GPU lost", Weight: 1, Do: c.onGPU(func(i int) { c.faults[i] = "kind = " + pick(rng, "lost", "reset") })},
		{Name: "GPU lost from the start", Weight: 1, Do: c.onGPU(func(i int) {
			c.faults[i] = "kind = " + pick(rng, "lost", "reset") + "\nat_start = true"
		})},
		{Name: "function fails", Weight: 3, Do: c.onGPU(func(i int) {
			c.faults[i] = "function = " + pick(rng, chaoticFunctions...) +
				"\nreturn = " + pick(rng, "UNKNOWN", "TIMEOUT", "MEMORY", "NOT_FOUND", "NOT_READY", "GPU_IS_LOST", "INSUFFICIENT_SIZE", "IN_USE")
			if rng.IntN(2) == 0 {
				c.faults[i] += "\ncalls = " + strconv.Itoa(1+rng.IntN(3))
			}
		})},
		{Name: "function hangs", Weight: 2, Do: c.onGPU(func(i int) {
			c.faults[i] = "function = " + pick(rng, chaoticFunctions...) + "\nhang = true"
			if rng.IntN(2) == 0 {
				c.faults[i] += "\nreturn = " + pick(rng, "UNKNOWN", "GPU_IS_LOST")
			}
		})},
		{Name: "function is slow", Weight: 1, Do: c.onGPU(func(i int) {
			c.faults[i] = "function = " + pick(rng, chaoticFunctions...) + "\nhang = " + pick(rng, "20ms", "70ms", "150ms")
		})},
		{Name: "GPU without fault", Weight: 1, Do: c.onGPU(func(i int) { c.faults[i] = "" })},
		{Name: "GPU removed or back", Weight: 1, Do: c.onGPU(func(i int) {
			c.absent[i] = !c.absent[i]
			c.offBus[i] = c.absent[i] && rng.IntN(3) == 0
			c.lent[i] = c.absent[i] && !c.offBus[i] && rng.IntN(2) == 0
		})},
		{Name: "GPU replaced", Weight: 1, Do: c.onGPU(func(i int) {
			c.exchanged = true
			c.uuids[i] = rng.IntN(3)
		})},
		{Name: "driver fails", Weight: 1, Do: c.onAll(func() {
			c.system = pick(rng, "kind = driver", "function = nvmlInit\nreturn = LIB_RM_VERSION_MISMATCH", "function = nvmlInit\nreturn = UNKNOWN",
				"function = nvmlDeviceGetCount\nreturn = UNKNOWN", "function = nvmlDeviceGet*\nreturn = UNINITIALIZED")
		})},
		{Name: "driver is slow", Weight: 1, Do: c.onAll(func() {
			c.system = "function = " + pick(rng, "nvmlShutdown", "nvmlInit", "nvmlEventSetWait", "nvmlEventSetCreate", "nvmlEventSetFree") +
				"\nhang = " + pick(rng, "20ms", "70ms", "150ms")
		})},
		{Name: "driver without fault", Weight: 1, Do: func() string { c.system = ""; return "" }},
		{Name: "driver replaced, GPUs in another order, or an XID", Weight: 1, Do: c.onAll(func() {
			switch rng.IntN(3) {
			case 0:
				c.driver, c.system = c.driver+1, "kind = driver"
			case 1:
				c.order = "order = " + pick(rng, "0,1,2,3", "1,0,2,3", "3,2,1,0", "0,2,1,3")
			default:
				c.events++
			}
		})},
		{Name: "driver's files hang", Weight: 1, Do: func() string {
			hang := make(chan struct{})
			c.hang.CompareAndSwap(nil, &hang)
			return ""
		}},
		{Name: "MIG switched", Weight: 1, Do: c.onInstances(func() { c.whole = !c.whole })},
		{Name: "MIG instance removed or back", Weight: 1, Do: c.onInstances(func() {
			j := rng.IntN(len(c.removed))
			c.removed[j] = !c.removed[j]
		})},
		{Name: "MIG instances in another order", Weight: 1, Do: c.onInstances(func() { copy(c.places[:], rng.Perm(len(c.places))) })},
		{Name: "clock set", Weight: 1, Do: func() string {
			c.jump = pick(rng, 0, 5*time.Minute, -5*time.Minute, time.Minute, -time.Minute)
			return c.jump.String()
		}},
	}
}

// onGPU does something to one of the GPUs.
func (c *chaos) onGPU(do func(i int)) func() string {
	return func() string {
		i := c.rng.IntN(chaoticGPUs)
		c.touched[i] = true
		do(i)
		return fmt.Sprintf("GPU %d: %q, absent %v, off the bus %v, lent %v, %s", i, c.faults[i], c.absent[i], c.offBus[i], c.lent[i], c.uuid(i))
	}
}

// onAll does something that concerns every GPU.
func (c *chaos) onAll(do func()) func() string {
	return func() string {
		c.touched = [chaoticGPUs]bool{true, true, true, true}
		do()
		return fmt.Sprintf("%q, %s, driver %d, %d XIDs", c.system, c.order, c.driver, c.events)
	}
}

// onInstances does something to the MIG instances, which are the instances of GPU 0.
func (c *chaos) onInstances(do func()) func() string {
	return func() string {
		c.touched[0] = true
		do()
		return fmt.Sprintf("off %v, gone %v, order %v", c.whole, c.removed, c.places)
	}
}

// heal ends all faults, waits for the calls that hung, and reads until everything is read again.
func (c *chaos) heal() {
	c.t.Helper()
	c.faults, c.removed, c.places = [chaoticGPUs]string{}, [3]bool{}, [3]int{0, 1, 2}
	c.absent, c.offBus, c.lent = [chaoticGPUs]bool{}, [chaoticGPUs]bool{}, [chaoticGPUs]bool{}
	c.system, c.order, c.jump, c.whole = "", "", 0, false
	c.unhangFiles()
	c.apply()
	require.Eventually(c.t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.source.driver.settle()
		return c.pool.Outstanding() == 0 && c.source.driver.pending == nil
	}, time.Minute, time.Millisecond, "something still hangs")
	good := 0
	var n *gpu.Node
	for range 100 { // a function that failed often is not called for up to 32 reads, and opening is not retried for up to 5 minutes
		n = c.look(unhurried)
		why := c.unhealthy(n)
		if why == "" {
			if good++; good == 3 {
				break
			}
		} else {
			require.Zero(c.t, good, "%s; %s", why, c.story())
		}
		c.seconds += 10
		c.apply()
	}
	require.Equal(c.t, 3, good, "%s; %s", c.unhealthy(n), c.story())
	c.touched, c.exchanged = [chaoticGPUs]bool{}, false
}

func (c *chaos) unhangFiles() {
	if hang := c.hang.Swap(nil); hang != nil {
		close(*hang)
	}
}

func (c *chaos) story() string { return c.history.String() }

// Whatever fails, in whatever order, what is read is consistent; and afterwards everything is read again.
func TestChaos(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("keep open %v", keep), func(t *testing.T) {
			plan := histories.Plan{Seed: rand.Uint64(), Histories: 1, Rounds: 25}
			histories.Each(t, plan, func(t *testing.T, h *histories.History) { playChaos(t, h, keep) })
		})
	}
}

func playChaos(t *testing.T, h *histories.History, keep bool) {
	t.Helper()
	c := &chaos{history: h, rng: h.Rand, counters: map[string]lastTotal{}}
	c.bench = start(t, chaotic, WithClock(c.time), WithInterval(10*time.Second), func(cfg *Config) { cfg.KeepOpen = keep })
	read := c.files.read
	c.files.read = func(root, address string) (information, bool) {
		if hang := c.hang.Load(); hang != nil {
			<-*hang
		}
		return read(root, address)
	}
	t.Cleanup(c.unhangFiles)
	c.heal()
	routines, files := runtime.NumGoroutine(), openFiles(t)
	for i := range h.Rounds {
		for range 1 + c.rng.IntN(3) {
			h.Make(c.steps()...)
		}
		c.seconds += c.rng.Float64() * 70
		c.apply()
		for range 1 + c.rng.IntN(4) {
			if c.rng.IntN(4) == 0 {
				c.fetchSamples()
			}
			c.look(100 * time.Millisecond)
			c.ours.Add(int64(c.rng.IntN(40)) * int64(time.Second))
		}
		if c.rng.IntN(8) == 0 || i == h.Rounds-1 {
			c.heal()
			require.Eventually(t, func() bool { return openFiles(t) <= files }, time.Minute, time.Millisecond)
			require.Eventually(t, func() bool { return runtime.NumGoroutine() <= routines+2 }, time.Minute, time.Millisecond)
			require.LessOrEqual(t, len(c.gpus.all), chaoticGPUs)
		}
	}
}
