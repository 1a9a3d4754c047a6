// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// machine writes a random scenario. The same seed gives the same scenario.
type machine struct {
	strings.Builder
	*rand.Rand
	mig map[int][]int // the indices of the MIG devices of a GPU
}

func randomMachine(seed uint64) (scenario, faults string) {
	m := &machine{Rand: rand.New(rand.NewPCG(seed, 535)), mig: map[int][]int{}}
	gpus := 1 + m.IntN(4)
	m.line("time = manual\nnow = 100s\ngpus = %d", gpus)
	m.line("driver.version = %s", m.one("580.95.05", "535.183.01", "550.54.15", "470.82.00"))
	if m.sometimes(3) {
		m.line("order = %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Perm(gpus)), " ", ","), "[]"))
	}
	minors := m.Perm(gpus)
	for i := range gpus {
		m.gpu(i, minors[i])
	}
	for i := range m.IntN(6) {
		m.process(i, gpus)
	}
	scenario = m.String()
	m.Reset()
	for i := range gpus {
		if m.sometimes(5) {
			m.line("[fault away%d]\ngpu = %d\nkind = %s\nat_start = %t", i, i, m.one("lost", "reset"), m.sometimes(2))
		}
	}
	return scenario, m.String()
}

func (m *machine) line(format string, a ...any) { fmt.Fprintf(m, format+"\n", a...) }
func (m *machine) sometimes(n int) bool         { return m.IntN(n) == 0 }
func (m *machine) one(values ...string) string  { return values[m.IntN(len(values))] }
func (m *machine) whole(low, high int64) string {
	return strconv.FormatInt(low+m.Int64N(high-low+1), 10)
}
func (m *machine) set(key string, value string)   { m.line("%s = %s", key, value) }
func (m *machine) maybe(key string, value string) { m.rarely(key, value, "unsupported") }

// rarely sets a key, sometimes to a special value.
func (m *machine) rarely(key, value string, others ...string) {
	switch {
	case m.sometimes(2):
	case m.sometimes(8):
		m.set(key, m.one(others...))
	default:
		m.set(key, value)
	}
}

func (m *machine) each(keys []string, low, high int64, others ...string) {
	for _, key := range keys {
		m.rarely(key, m.whole(low, high), others...)
	}
}

// mark is NVML's mark for an unsupported value.
const mark = "raw(0xFFFFFFFF)"

func (m *machine) gpu(i, minor int) {
	board := m.one("h100", "a100", "b200", "gh200", "gb10", "turing", "geforce")
	m.line("[gpu %d]\nboard = %s", i, board)
	m.set("minor", strconv.Itoa(minor))
	m.maybe("serial", m.whole(1, 1<<40))
	if m.sometimes(3) {
		m.set("bus_id", fmt.Sprintf("%s:%02x:00", m.one("0000", "0001", "ffff", "10000"), 128+i))
	}
	if m.sometimes(3) {
		m.set("name", m.one("NVIDIA A & B <x>", "Tesla \"T4\"", "NVIDIA H100 MIG 1g.10gb", "N/A board", strings.Repeat("x", 63)))
	}
	// From Ampere on. For an older GPU the tool prints remapped rows if the library invents them. Our source does not ask for them.
	m.set("compute_capability", m.whole(8, 12)+"."+m.whole(0, 9))
	if m.sometimes(15) {
		m.line("util.gpu = unsupported\nutil.memory = unsupported")
	} else {
		m.each([]string{"util.gpu", "util.memory"}, 0, 100, mark, "0", "100", "raw(101)")
	}
	m.each([]string{"util.encoder", "util.decoder", "util.jpeg", "util.ofa"}, 0, 100, "unsupported", mark, "0", "100", "raw(101)")
	m.memory(board)
	m.each([]string{"temperature", "temperature.memory"}, 0, 110, "unsupported", mark, "0", "raw(65535)")
	m.each([]string{"threshold.shutdown", "threshold.slowdown", "threshold.memory_max", "threshold.gpu_max"}, 1, 120, "unsupported", mark, "0")
	for _, key := range []string{"power", "power.instant", "power.module", "power.limit"} {
		m.rarely(key, fmt.Sprintf("%.3f", 1+m.Float64()*1200), "unsupported", mark, "raw(3000000000)")
	}
	m.each([]string{
		"clock.graphics", "clock.sm", "clock.memory", "clock.video",
		"clock.max.graphics", "clock.max.sm", "clock.max.memory", "clock.max.video",
	}, 1, 10000, "unsupported", mark, "0")
	m.throttle()
	m.rarely("pstate", m.whole(0, 15), "unsupported", "raw(32)")
	if board == "turing" || board == "geforce" {
		m.rarely("fans", m.whole(1, 3), "1")
		m.rarely("fan", m.whole(0, 100), "unsupported", mark, "raw(117)")
	}
	m.each([]string{"pcie.generation", "pcie.generation.max"}, 1, 7, "unsupported", mark, "0")
	m.each([]string{"pcie.width", "pcie.width.max"}, 1, 16, "unsupported", mark, "0")
	m.rarely("pcie.replay", m.whole(0, 1<<31), "unsupported", mark, "0")
	partitioned := (board == "h100" || board == "a100" || board == "b200") && m.sometimes(3)
	m.reliability(board, partitioned)
	m.maybe("virtualization", m.whole(0, 2))
	m.maybe("persistence", m.whole(0, 1))
	m.maybe("display", m.whole(0, 1))
	m.maybe("recovery_action", "0")
	if partitioned {
		m.instances(i)
	}
}

func (m *machine) throttle() {
	if m.sometimes(20) {
		m.set("reasons", "unsupported")
	} else if m.sometimes(2) {
		supported := m.IntN(0x200)
		m.line("reasons.supported = %d\nreasons = %d", supported, m.IntN(0x200)&supported)
	}
}

func (m *machine) memory(board string) {
	if board == "gb10" || !m.sometimes(2) {
		return
	}
	total := 1<<30 + m.Int64N(200<<30)
	reserved, used := m.Int64N(1<<29), m.Int64N(total-1<<29)
	m.line("memory.total = %d\nmemory.reserved = %d\nmemory.used = %d", total, reserved, used)
	if m.sometimes(3) {
		m.line("protected.total = %d\nprotected.used = %d", total/2, m.Int64N(total/2))
	}
}

func (m *machine) reliability(board string, partitioned bool) {
	if board != "gb10" && board != "geforce" {
		if !partitioned && m.sometimes(6) { // nvidia-smi omits the MIG devices of a GPU without it
			m.set("ecc", "0")
		}
		for _, key := range []string{"ecc.volatile.corrected", "ecc.volatile.uncorrected", "ecc.aggregate.corrected", "ecc.aggregate.uncorrected"} {
			dram, sram := m.Int64N(1<<m.IntN(40)), m.Int64N(1<<m.IntN(20))
			if m.sometimes(2) {
				m.line("%s = %d\n%[1]s.dram = %[3]d\n%[1]s.sram = %[4]d", key, dram+sram, dram, sram)
			}
		}
	}
	if board == "turing" {
		m.rarely("retired.sbe", m.whole(0, 60), "unsupported", mark)
		m.rarely("retired.dbe", m.whole(0, 60), "unsupported", mark)
		m.rarely("retired.pending", m.whole(0, 1), "unsupported")
		return
	}
	if board == "geforce" || board == "gb10" {
		return
	}
	m.rarely("remapped.corrected", m.whole(0, 5000), "0", mark)
	m.rarely("remapped.uncorrected", m.whole(0, 5000), "0", mark)
	m.rarely("remapped.pending", m.whole(0, 1), "0")
	m.rarely("remapped.failure", m.whole(0, 1), "0")
}
