// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// amdGPU is a GPU and its true state.
type amdGPU struct {
	*amdgpusim.Card
	fate    string            // "absent", or the other driver that has it
	handed  bool              // its last driver was not amdgpu: it is not reported as missing
	faults  map[string]string // of its files
	changed bool              // a step concerned it since the last recovery
	again   bool              // the driver makes its directory again

	joules float64 // drawn in all
	shown  float64 // of these, since the reset of its counter
	turn   float64 // the value at which the counter wraps; 0 if it does not
	resets int
	slept  float64 // seconds
	dozed  bool    // it slept, and the files show that
	errors int64   // corrected since the driver was loaded
	whole  *amdgpusim.Card
	parts  *amdgpusim.Card // the same GPU in partitions
	divide bool            // it has partitions after a recovery
}

// amdFiles are files of a GPU. Not every GPU has all of them.
var amdFiles = []string{
	"gpu_metrics", "gpu_metrics", "gpu_metrics", "gpu_busy_percent", "mem_info_vram_used", "mem_info_vram_total", "unique_id", "pcie_replay_count",
	"current_compute_partition", "ras/umc_err_count", "hwmon/hwmon14/power1_average", "hwmon/hwmon14/temp2_input", "hwmon/hwmon3/power1_input",
	"serial_number", "product_name", "power/runtime_status",
}

func newAMDGPUs(rng *rand.Rand) []*amdGPU {
	divided, whole := amdgpusim.MI300XCPX().Cards[0], amdgpusim.MI300XSPX().Cards[0]
	cards := []*amdGPU{
		{Card: whole, whole: whole, parts: divided, divide: rng.IntN(2) == 0},
		{Card: amdgpusim.MI300XEarlier().Cards[1]},
		{Card: amdgpusim.MI100().Cards[0], turn: 1 << 32},
		{Card: amdgpusim.Radeon().Cards[0], turn: 65536},
		{Card: amdgpusim.APU().Cards[0]},
	}
	for i, c := range cards {
		c.faults = map[string]string{}
		c.shown = 1 + rng.Float64()*65000
		if i > 0 {
			c.Number = 9 + i // the numbers before belong to partitions
		}
	}
	for _, divide := range []bool{!cards[0].divide, cards[0].divide} {
		cards[0].partition(divide)
		for _, c := range cards {
			c.vary(rng)
		}
	}
	return cards
}

// id returns the GPU's hw.id.
func (c *amdGPU) id() string {
	if c.UniqueID == 0 {
		return "node-a/" + c.Address
	}
	return fmt.Sprintf("%016x", c.UniqueID)
}

// leaves returns the leaf devices.
func (c *amdGPU) leaves() []string {
	if len(c.Partitions) < 2 {
		return []string{c.id()}
	}
	var ids []string
	for i := range c.Partitions {
		ids = append(ids, fmt.Sprint(c.id(), "/", i))
	}
	return ids
}

// partition divides it into partitions, or makes it one device.
func (c *amdGPU) partition(divide bool) {
	first := c.Card
	if c.Card = c.whole; divide {
		c.Card = c.parts
	}
	c.Status, c.Readings, c.RAS = first.Status, first.Readings, first.RAS
}

// field is a field of its gpu_metrics table. Not every revision has it.
func (c *amdGPU) field(name string) reflect.Value {
	return reflect.ValueOf(c.Metrics).Elem().FieldByName(name)
}

// encode writes the true state into the driver's tables.
func (c *amdGPU) encode() {
	for name, v := range map[string]uint64{
		"Energy": uint64(c.shown * c.perJoule()), "SocketPower": uint64(c.watts()), "GfxActivity": uint64(c.Readings.Busy), "Hotspot": uint64(c.Readings.Junction / 1000),
	} {
		if f := c.field(name); f.IsValid() && c.turn+float64(c.XCCs) > 0 { // an APU's has other units
			f.SetUint(v)
		}
	}
	for i := range c.RAS {
		if c.RAS[i].Name == "umc" {
			c.RAS[i].Corrected = c.errors
		}
	}
}

func (c *amdGPU) watts() float64 { return float64(max(c.Readings.Average, c.Readings.Instant)) / 1e6 }

func (c *amdGPU) pass(seconds float64) {
	if c.Status != "active" {
		c.slept += seconds
		return
	}
	c.joules += c.watts() * seconds
	c.shown += c.watts() * seconds
	for c.turn > 0 && c.shown >= c.turn {
		c.shown -= c.turn
	}
	if f := c.field("Residencies"); f.IsValid() && f.Kind() == reflect.Struct {
		passLimits(f.Addr().Interface().(*amdgpusim.Residencies), seconds)
	}
}

// reset restarts its firmware's counters.
func (c *amdGPU) reset() {
	c.shown = 0
	c.resets++
	if f := c.field("Residencies"); f.IsValid() && f.Kind() == reflect.Struct {
		f.SetZero()
	}
}

// wake switches its power on.
func (c *amdGPU) wake() {
	if c.Status != "active" && c.dozed {
		c.slept += 0.001 // it cannot sleep for less than the kernel counts
		c.reset()
	}
	c.Status = "active"
}

// vary changes its load.
func (c *amdGPU) vary(rng *rand.Rand) {
	r := &c.Readings
	r.Busy = rng.IntN(101)
	r.VRAMUsed = rng.Int64N(r.VRAM>>20) << 20 // amd-smi prints whole MiB
	if r.Junction != amdgpusim.None {
		r.Junction = 1000 * (30 + rng.IntN(70))
	}
	w := int64(20+rng.IntN(280)) * 1e6
	if r.Average != amdgpusim.None {
		r.Average = w
	} else if c.XCCs > 0 {
		r.Instant = w
	}
	for i := range c.Partitions {
		if p := &c.Partitions[i]; p.Used != amdgpusim.None {
			p.Used = rng.Int64N(p.Memory>>20) << 20
		}
	}
}

// perJoule returns how many units of the firmware's energy counter are a joule.
func (c *amdGPU) perJoule() float64 {
	if c.turn > 65536 { // an MI100
		return 1
	}
	return 1 << 16
}

// passLimits advances the time with the power limited for a third of it. The clock counts nanoseconds.
func passLimits(r *amdgpusim.Residencies, seconds float64) {
	r.SystemClock += uint64(seconds * 1e9)
	r.Accumulations += uint32(seconds * 500)
	r.PPT += uint32(seconds * 500 / 3)
}
