// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// nvidiaScenario is a machine with four GPUs. GPU 0 has MIG instances.
const nvidiaScenario = `
gpus = 4
time = manual
[gpu *]
board = h100
util.gpu = 60
util.memory = 30
pcie.tx.bytes = counter(4294900000, 3000, wrap=4294967296)
pcie.rx.bytes = counter(100, 9M, wrap=4294967296)
[gpu 0]
mig = 1
[gpu 1]
ecc.volatile.corrected = counter(3, 0.1)
[gpu 2]
board = a100
util.gpu = sine(50, 40, 60)
pcie.tx.bytes = counter(912345678901, 10M)
pcie.rx.bytes = counter(812345678901, 9M)
[gpu 3]
board = turing
`

const nvidiaCount = 4 // GPUs

var (
	nvidiaAddresses = [nvidiaCount]string{"0000:0a:00.0", "0000:0d:00.0", "0000:10:00.0", "0000:13:00.0"}
	migInstances    = [3]string{
		"profile = 3g.40gb\ngi = 2\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 1",
	}
	nvmlFunctions = []string{
		"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetMigMode",
		"nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetFieldValues", "nvmlDeviceGetSamples",
		"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage",
		"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetProcessUtilization", "nvmlDeviceRegisterEvents", "nvmlGpm*",
	}
)

// nvidiaGPUs are the GPUs and their driver.
type nvidiaGPUs struct {
	t       *testing.T
	rng     *rand.Rand
	sys     string
	seconds float64 // the driver's time

	uuids   [nvidiaCount]int
	faults  [nvidiaCount]string
	absent  [nvidiaCount]bool
	offBus  [nvidiaCount]bool
	watts   [nvidiaCount]int
	joules  [nvidiaCount]float64 // counted by the driver
	slowed  [nvidiaCount]float64 // likewise: seconds of throttling
	removed [3]bool              // instances of GPU 0
	whole   bool                 // MIG is off
	order   string
	system  string // a fault of the driver
	driver  int
	away    bool // the driver is being replaced
	events  int

	touched [nvidiaCount]bool // something happened to it since the last recovery
}

func newNVIDIAGPUs(t *testing.T, rng *rand.Rand) *nvidiaGPUs {
	t.Helper()
	return &nvidiaGPUs{t: t, rng: rng, sys: t.TempDir(), watts: [nvidiaCount]int{330, 330, 200, 60}}
}

func (m *nvidiaGPUs) uuid(i int) string {
	return fmt.Sprintf("GPU-6f1c2a%02x-5eed-4a11-8c0d-%012x", i, m.uuids[i])
}

func (m *nvidiaGPUs) instance(j int) string {
	return fmt.Sprintf("MIG-3b7d9e%02x-5eed-5a11-9e0f-%012x", j, m.uuids[0])
}

// place is a leaf device: a GPU, or an instance of the first.
type place struct{ gpu, mig int }

// id returns the device's current hw.id, empty if the device does not exist.
func (m *nvidiaGPUs) id(p place) string {
	switch {
	case p.mig >= 0 && !m.whole && !m.removed[p.mig]:
		return m.instance(p.mig)
	case p.mig < 0 && (p.gpu > 0 || m.whole):
		return m.uuid(p.gpu)
	}
	return ""
}

// places returns the existing leaf devices.
func (m *nvidiaGPUs) places() []place {
	var result []place
	for i := range nvidiaCount {
		for j := -1; j < len(migInstances); j++ {
			if position := (place{i, j}); (i == 0 || j < 0) && m.id(position) != "" {
				result = append(result, position)
			}
		}
	}
	return result
}

func (m *nvidiaGPUs) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "now = %g\ndriver.version = 580.%d\n%s\n", m.seconds, m.driver, m.order)
	for i := range nvidiaCount {
		fmt.Fprintf(&b, "[gpu %d]\nuuid = %s\npresent = %v\npower = %d\nenergy = %g\nviolation.power = %g\n",
			i, m.uuid(i), !m.absent[i], m.watts[i], m.joules[i], m.slowed[i])
		if i == 0 && m.whole {
			b.WriteString("mig = 0\n")
		}
		if m.faults[i] != "" {
			fmt.Fprintf(&b, "[fault gpu%d]\ngpu = %d\n%s\n", i, i, m.faults[i])
		}
	}
	for j, instance := range migInstances {
		fmt.Fprintf(&b, "[mig 0 %d]\n%s\nuuid = %s\npresent = %v\n", j, instance, m.instance(j), !m.removed[j])
	}
	if m.system != "" {
		fmt.Fprintf(&b, "[fault system]\n%s\n", m.system)
	}
	for i := range min(m.events, 1+m.events%3) { // one, or a burst
		mig := ""
		if m.events%nvidiaCount == 0 && i == 1 {
			mig = "mig = 0\n" // of GPU 0
		}
		fmt.Fprintf(&b, "[event e%d.%d]\ngpu = %d\nxid = %d\n%s", m.events, i, m.events%nvidiaCount, []int{13, 48, 63, 45}[(m.events+i/2)%4], mig)
	}
	return b.String()
}

// pass advances the time.
func (m *nvidiaGPUs) pass(seconds float64) {
	m.seconds += seconds
	for i := range nvidiaCount {
		m.joules[i] += seconds * float64(m.watts[i])
		m.slowed[i] += seconds / 5
	}
}

// bus writes the current PCI bus.
func (m *nvidiaGPUs) bus() {
	for i, address := range nvidiaAddresses {
		require.NoError(m.t, os.RemoveAll(filepath.Join(m.sys, "bus/pci/devices", address)))
		if !m.offBus[i] {
			m.writePCI(address)
		}
	}
}

func (m *nvidiaGPUs) writePCI(address string) {
	dir := filepath.Join(m.sys, "bus/pci/devices", address)
	require.NoError(m.t, os.MkdirAll(dir, 0o750))
	for file, text := range map[string]string{"vendor": "0x10de\n", "class": "0x030200\n", "numa_node": "1\n"} {
		require.NoError(m.t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	require.NoError(m.t, os.Symlink("../../../../bus/pci/drivers/nvidia", filepath.Join(dir, "driver")))
}

// steps are the possible events of the GPUs and their driver.
func (m *nvidiaGPUs) steps() []histories.Step {
	return []histories.Step{
		{Name: "GPU lost", Weight: 1, Do: m.onGPU(func(i int) {
			m.faults[i] = "kind = " + m.oneOf("lost", "reset") + "\nat_start = " + m.oneOf("true", "false")
		})},
		{Name: "function fails", Weight: 3, Do: m.onGPU(func(i int) {
			m.faults[i] = "function = " + m.oneOf(nvmlFunctions...) + "\nreturn = " + m.oneOf("UNKNOWN", "TIMEOUT", "NOT_FOUND", "GPU_IS_LOST", "IN_USE")
			if m.rng.IntN(2) == 0 {
				m.faults[i] += fmt.Sprint("\ncalls = ", 1+m.rng.IntN(3))
			}
		})},
		{Name: "function hangs", Weight: 1, Do: m.onGPU(func(i int) {
			m.faults[i] = "function = " + m.oneOf(nvmlFunctions...) + "\nhang = " + m.oneOf("true", "150ms")
		})},
		{Name: "GPU without fault", Weight: 2, Do: m.onGPU(func(i int) { m.faults[i] = "" })},
		{Name: "GPU removed or back", Weight: 1, Do: m.onGPU(func(i int) {
			m.absent[i] = !m.absent[i]
			m.offBus[i] = m.absent[i] && m.rng.IntN(2) == 0
		})},
		{Name: "GPU reset", Weight: 1, Do: m.onGPU(func(i int) { m.joules[i], m.slowed[i] = 0, 0 })}, // by nvidia-smi -r
		{Name: "driver fails", Weight: 1, Do: func() string {
			if m.away {
				return "not while it is replaced"
			}
			m.touchAll()
			m.system = m.oneOf("kind = driver", "function = nvmlInit\nreturn = UNKNOWN", "function = nvmlDeviceGetCount\nreturn = UNKNOWN",
				"function = nvmlDeviceGet*\nreturn = UNINITIALIZED", "function = nvmlInit\nreturn = LIB_RM_VERSION_MISMATCH")
			return m.system
		}},
		{Name: "driver without fault", Weight: 2, Do: func() string {
			if !m.away {
				m.system = ""
			}
			return m.system
		}},
		{Name: "MIG switched", Weight: 1, Do: func() string {
			m.touched[0] = true
			if m.whole = !m.whole; m.rng.IntN(2) == 0 {
				m.removed[m.rng.IntN(3)] = true
			}
			return fmt.Sprintf("off %v, instances gone %v", m.whole, m.removed)
		}},
		{Name: "MIG instance removed or back", Weight: 1, Do: func() string {
			m.touched[0] = true
			j := m.rng.IntN(3)
			m.removed[j] = !m.removed[j]
			return fmt.Sprint("gone ", m.removed)
		}},
		{Name: "XID", Weight: 1, Do: func() string { m.events++; return fmt.Sprint("GPU ", m.events%nvidiaCount) }},
		m.rareStep(),
	}
}

// rareStep is one of the rare events.
func (m *nvidiaGPUs) rareStep() histories.Step {
	return histories.Step{Name: "machine changed", Weight: 1, Do: func() string {
		i := m.rng.IntN(nvidiaCount)
		switch m.rng.IntN(4) {
		case 0:
			m.driver++
			m.unload()
			return fmt.Sprint("driver ", m.driver)
		case 1:
			m.touchAll()
			m.order = "order = " + m.oneOf("0,1,2,3", "1,0,2,3", "3,2,1,0", "0,2,1,3")
			return m.order
		case 2:
			m.uuids[i] = m.rng.IntN(3)
			m.unload()
			return fmt.Sprintf("GPU %d is another one: %s", i, m.uuid(i))
		default:
			m.watts[i] = 30 + m.rng.IntN(300)
			return fmt.Sprintf("GPU %d draws %d W", i, m.watts[i])
		}
	}}
}

// onGPU changes one of the GPUs, and returns a description of the GPU and its new state.
func (m *nvidiaGPUs) onGPU(do func(i int)) func() string {
	return func() string {
		i := m.rng.IntN(nvidiaCount)
		m.touched[i] = true
		do(i)
		return fmt.Sprintf("GPU %d: absent %v, off the bus %v, %q", i, m.absent[i], m.offBus[i], m.faults[i])
	}
}

func (m *nvidiaGPUs) oneOf(values ...string) string { return histories.OneOf(m.rng, values...) }

// unload removes the driver and all its counters. A read sees that before the driver is back.
func (m *nvidiaGPUs) unload() {
	m.touchAll()
	m.system, m.away = "kind = driver", true
	m.joules, m.slowed = [nvidiaCount]float64{}, [nvidiaCount]float64{}
}

func (m *nvidiaGPUs) touchAll() { m.touched = [nvidiaCount]bool{true, true, true, true} }

// recover ends all faults of the GPUs.
func (m *nvidiaGPUs) recover() {
	m.faults, m.removed = [nvidiaCount]string{}, [3]bool{}
	m.absent, m.offBus = [nvidiaCount]bool{}, [nvidiaCount]bool{}
	m.system, m.order, m.whole = "", "", false
}
