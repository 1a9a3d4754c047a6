// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// soakGPUs is a machine of four GPUs, of which 0 is partitioned.
const soakGPUs = `
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

const soaked = 4 // GPUs

var (
	soakAddresses = [soaked]string{"0000:0a:00.0", "0000:0d:00.0", "0000:10:00.0", "0000:13:00.0"}
	soakInstances = [3]string{
		"profile = 3g.40gb\ngi = 2\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 0", "profile = 1c.2g.20gb\ngi = 5\nci = 1",
	}
	soakFunctions = []string{
		"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetMigMode",
		"nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetFieldValues", "nvmlDeviceGetSamples",
		"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage",
		"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetProcessUtilization", "nvmlDeviceRegisterEvents", "nvmlGpm*",
	}
)

// soakMachine is the GPUs and their driver.
type soakMachine struct {
	t       *testing.T
	rng     *rand.Rand
	sys     string
	seconds float64 // the driver's time

	uuids  [soaked]int
	faults [soaked]string
	absent [soaked]bool
	offBus [soaked]bool
	watts  [soaked]int
	joules [soaked]float64 // what the driver has counted
	slowed [soaked]float64 // likewise, in seconds
	gone   [3]bool         // instances of GPU 0
	whole  bool            // MIG is off
	order  string
	system string // a fault of all
	driver int
	away   bool // the driver is being exchanged
	events int

	touched [soaked]bool // since all was well
}

func newSoakMachine(t *testing.T, rng *rand.Rand) *soakMachine {
	t.Helper()
	return &soakMachine{t: t, rng: rng, sys: t.TempDir(), watts: [soaked]int{330, 330, 200, 60}}
}

func (m *soakMachine) uuid(i int) string {
	return fmt.Sprintf("GPU-6f1c2a%02x-5eed-4a11-8c0d-%012x", i, m.uuids[i])
}

func (m *soakMachine) instance(j int) string {
	return fmt.Sprintf("MIG-3b7d9e%02x-5eed-5a11-9e0f-%012x", j, m.uuids[0])
}

// place is a leaf device: a GPU, or an instance of the first.
type place struct{ gpu, mig int }

// id is what a place is called at present; nothing where there is none.
func (m *soakMachine) id(at place) string {
	switch {
	case at.mig >= 0 && !m.whole && !m.gone[at.mig]:
		return m.instance(at.mig)
	case at.mig < 0 && (at.gpu > 0 || m.whole):
		return m.uuid(at.gpu)
	}
	return ""
}

// places are the leaf devices that there are.
func (m *soakMachine) places() []place {
	var found []place
	for i := range soaked {
		for j := -1; j < len(soakInstances); j++ {
			if at := (place{i, j}); (i == 0 || j < 0) && m.id(at) != "" {
				found = append(found, at)
			}
		}
	}
	return found
}

func (m *soakMachine) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "now = %g\ndriver.version = 580.%d\n%s\n", m.seconds, m.driver, m.order)
	for i := range soaked {
		fmt.Fprintf(&b, "[gpu %d]\nuuid = %s\npresent = %v\npower = %d\nenergy = %g\nviolation.power = %g\n",
			i, m.uuid(i), !m.absent[i], m.watts[i], m.joules[i], m.slowed[i])
		if i == 0 && m.whole {
			b.WriteString("mig = 0\n")
		}
		if m.faults[i] != "" {
			fmt.Fprintf(&b, "[fault gpu%d]\ngpu = %d\n%s\n", i, i, m.faults[i])
		}
	}
	for j, instance := range soakInstances {
		fmt.Fprintf(&b, "[mig 0 %d]\n%s\nuuid = %s\npresent = %v\n", j, instance, m.instance(j), !m.gone[j])
	}
	if m.system != "" {
		fmt.Fprintf(&b, "[fault system]\n%s\n", m.system)
	}
	if m.events > 0 {
		fmt.Fprintf(&b, "[event e%d]\ngpu = %d\nxid = %d\n", m.events, m.events%soaked, 13+m.events%3)
	}
	return b.String()
}

// pass has time pass.
func (m *soakMachine) pass(seconds float64) {
	m.seconds += seconds
	for i := range soaked {
		m.joules[i] += seconds * float64(m.watts[i])
		m.slowed[i] += seconds / 5
	}
}

// bus has the PCI bus show what is there.
func (m *soakMachine) bus() {
	for i, address := range soakAddresses {
		require.NoError(m.t, os.RemoveAll(filepath.Join(m.sys, "bus/pci/devices", address)))
		if !m.offBus[i] {
			pciGPU(m.t, m.sys, address, "nvidia")
		}
	}
}

// change changes one thing of the GPUs, for the worse or the better.
func (m *soakMachine) change() string {
	i := m.rng.IntN(soaked)
	what := m.rng.IntN(16)
	if what < 9 {
		m.touched[i] = true
	}
	switch what {
	case 0:
		m.faults[i] = "kind = " + oneOf(m.rng, "lost", "reset") + "\nat_start = " + oneOf(m.rng, "true", "false")
	case 1, 2, 3:
		m.faults[i] = "function = " + oneOf(m.rng, soakFunctions...) +
			"\nreturn = " + oneOf(m.rng, "UNKNOWN", "TIMEOUT", "NOT_FOUND", "GPU_IS_LOST", "IN_USE")
		if m.rng.IntN(2) == 0 {
			m.faults[i] += fmt.Sprint("\ncalls = ", 1+m.rng.IntN(3))
		}
	case 4:
		m.faults[i] = "function = " + oneOf(m.rng, soakFunctions...) + "\nhang = " + oneOf(m.rng, "true", "150ms")
	case 5, 6:
		m.faults[i] = ""
	case 7:
		m.absent[i] = !m.absent[i]
		m.offBus[i] = m.absent[i] && m.rng.IntN(2) == 0
	case 8:
		m.joules[i], m.slowed[i] = 0, 0 // by nvidia-smi -r
	case 9:
		if m.away {
			break
		}
		m.touchAll()
		m.system = oneOf(m.rng, "kind = driver", "function = nvmlInit\nreturn = UNKNOWN", "function = nvmlDeviceGetCount\nreturn = UNKNOWN",
			"function = nvmlDeviceGet*\nreturn = UNINITIALIZED", "function = nvmlInit\nreturn = LIB_RM_VERSION_MISMATCH")
	case 10, 11:
		if !m.away {
			m.system = ""
		}
	case 12:
		m.touched[0] = true
		if m.whole = !m.whole; m.rng.IntN(2) == 0 {
			m.gone[m.rng.IntN(3)] = true
		}
	case 13:
		m.touched[0] = true
		j := m.rng.IntN(3)
		m.gone[j] = !m.gone[j]
	case 14:
		switch m.rng.IntN(4) {
		case 0: // another driver
			m.driver++
			m.unload()
		case 1:
			m.touchAll()
			m.order = "order = " + oneOf(m.rng, "0,1,2,3", "1,0,2,3", "3,2,1,0", "0,2,1,3")
		case 2:
			m.uuids[i] = m.rng.IntN(3)
			m.unload()
		default:
			m.watts[i] = 30 + m.rng.IntN(300)
		}
	case 15:
		m.events++
	}
	return fmt.Sprintf("GPU %d: %d, faults %q, absent %v, system %q, order %q", i, what, m.faults, m.absent, m.system, m.order)
}

// unload takes the driver away, which is seen before it is back, and with it all that it has counted.
func (m *soakMachine) unload() {
	m.touchAll()
	m.system, m.away = "kind = driver", true
	m.joules, m.slowed = [soaked]float64{}, [soaked]float64{}
}

func (m *soakMachine) touchAll() { m.touched = [soaked]bool{true, true, true, true} }

// mend ends all that is wrong with the GPUs.
func (m *soakMachine) mend() {
	m.faults, m.gone = [soaked]string{}, [3]bool{}
	m.absent, m.offBus = [soaked]bool{}, [soaked]bool{}
	m.system, m.order, m.whole = "", "", false
}

func oneOf[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }
