// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// soakCard is a GPU and what is true of it.
type soakCard struct {
	*amdgpusim.Card
	fate    string            // "absent", or another driver that has it
	faults  map[string]string // of its files
	changed bool              // since all was settled
	anew    bool              // the driver has made it anew

	joules float64 // that it has drawn
	shown  float64 // of which its counter shows those since it was reset
	turn   float64 // where that wraps; 0: nowhere
	resets int
	slept  float64 // s
	dozed  bool    // and that can be known
	errors int64   // that were corrected since the driver was loaded
	whole  *amdgpusim.Card
	parts  *amdgpusim.Card // the same, divided
	divide bool            // as it is when all is well
}

// soakFiles are files of which some are not on every GPU.
var soakFiles = []string{
	"gpu_metrics", "gpu_metrics", "gpu_metrics", "gpu_busy_percent", "mem_info_vram_used", "mem_info_vram_total", "unique_id", "pcie_replay_count",
	"current_compute_partition", "ras/umc_err_count", "hwmon/hwmon14/power1_average", "hwmon/hwmon14/temp2_input", "hwmon/hwmon3/power1_input",
	"serial_number", "product_name", "power/runtime_status",
}

func soakCards(rng *rand.Rand) []*soakCard {
	divided, whole := amdgpusim.MI300XCPX().Cards[0], amdgpusim.MI300XSPX().Cards[0]
	cards := []*soakCard{
		{Card: whole, whole: whole, parts: divided, divide: rng.IntN(2) == 0},
		{Card: amdgpusim.MI300XEarlier().Cards[1]},
		{Card: amdgpusim.MI100().Cards[0], turn: 65536},
		{Card: amdgpusim.Radeon().Cards[0], turn: 65536},
		{Card: amdgpusim.APU().Cards[0]},
	}
	for i, c := range cards {
		c.faults = map[string]string{}
		c.shown = 1 + rng.Float64()*65000
		if i > 0 {
			c.Number = 9 + i // those before are of partitions
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

// id is its hw.id.
func (c *soakCard) id() string {
	if c.UniqueID == 0 {
		return "node-a/" + c.Address
	}
	return fmt.Sprintf("%016x", c.UniqueID)
}

// leaves are the devices on which there are processes.
func (c *soakCard) leaves() []string {
	if len(c.Partitions) < 2 {
		return []string{c.id()}
	}
	var ids []string
	for i := range c.Partitions {
		ids = append(ids, fmt.Sprint(c.id(), "/", i))
	}
	return ids
}

// partition divides it, or puts it together.
func (c *soakCard) partition(divide bool) {
	from := c.Card
	if c.Card = c.whole; divide {
		c.Card = c.parts
	}
	c.Status, c.Readings, c.RAS = from.Status, from.Readings, from.RAS
}

// field is a field of its metrics table, which not every revision has.
func (c *soakCard) field(name string) reflect.Value {
	return reflect.ValueOf(c.Metrics).Elem().FieldByName(name)
}

// encode puts what is so into what the driver shows.
func (c *soakCard) encode() {
	for name, v := range map[string]uint64{
		"Energy": uint64(c.shown * perJoule), "SocketPower": uint64(c.watts()), "GfxActivity": uint64(c.Readings.Busy), "Hotspot": uint64(c.Readings.Junction / 1000),
	} {
		if f := c.field(name); f.IsValid() && c.turn+float64(c.XCCs) > 0 { // that of an APU has other units
			f.SetUint(v)
		}
	}
	for i := range c.RAS {
		if c.RAS[i].Name == "umc" {
			c.RAS[i].Corrected = c.errors
		}
	}
}

func (c *soakCard) watts() float64 { return float64(max(c.Readings.Average, c.Readings.Instant)) / 1e6 }

func (c *soakCard) pass(seconds float64) {
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

// reset has its firmware begin anew.
func (c *soakCard) reset() {
	c.shown = 0
	c.resets++
	if f := c.field("Residencies"); f.IsValid() && f.Kind() == reflect.Struct {
		f.SetZero()
	}
}

// wake gives it power again.
func (c *soakCard) wake() {
	if c.Status != "active" && c.dozed {
		c.reset()
	}
	c.Status = "active"
}

// vary changes what it does.
func (c *soakCard) vary(rng *rand.Rand) {
	r := &c.Readings
	r.Busy = rng.IntN(101)
	r.VRAMUsed = rng.Int64N(r.VRAM>>20) << 20 // amd-smi tells no more of it
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

func (n *soakAMD) pass(seconds float64) {
	for _, c := range n.cards {
		c.pass(seconds)
	}
}

// change changes one thing of the GPUs or of what runs on them.
func (n *soakAMD) change() string {
	if n.tool != "" && n.rng.IntN(8) == 0 {
		n.trouble = oneOf(n.rng, "", "absent", "hangs", "cut")
		n.changeAll()
		return "tool " + n.trouble
	}
	what := n.rng.IntN(20)
	c := oneOf(n.rng, n.cards...)
	if what < 12 {
		c.changed = true
	}
	switch what {
	case 0, 1, 2, 3:
		name, how := oneOf(n.rng, soakFiles...), oneOf(n.rng, "missing", "error", "empty", "cut", "garbage", "garbage", "hangs")
		c.faults[name] = how
		return fmt.Sprint(c.Address, ": ", name, " ", how)
	case 4, 5:
		clear(c.faults)
	case 6:
		n.end(func(u *soakUse) bool { return u.card == c })
		if c.fate != "" {
			c.fate = ""
		} else {
			c.fate = oneOf(n.rng, "absent", "vfio-pci")
		}
		n.changeAll() // the tools number them anew
		c.errors = 0
	case 7:
		if c = n.cards[0]; c.Status != "active" {
			break // it is not asked how it is divided
		}
		n.changeAll()
		clear(c.faults)
		c.anew = c.anew || n.rng.IntN(4) == 0
		c.partition(len(c.Partitions) == 1)
		n.end(func(u *soakUse) bool { return u.card == c })
	case 8, 9: // it sleeps, until it is woken or between two reads
		n.end(func(u *soakUse) bool { return u.card == c })
		switch {
		case c.Status != "active":
			c.wake()
		case what == 8:
			c.Status, c.dozed = "suspended", n.tool == ""
		case n.tool == "": // else it may look like a wrap, as below
			c.slept += 1 + n.rng.Float64()
			c.reset()
		}
	case 10:
		if c.turn == 0 && n.tool == "" {
			c.reset()
		}
	case 11: // another driver, or none
		n.unloaded = !n.unloaded && n.rng.IntN(2) == 0
		n.driver++
		n.processes = nil
		n.changeAll()
		for _, c := range n.cards {
			c.anew, c.errors = true, 0
			if c.turn > 0 && n.tool == "" {
				c.shown = 0
			}
		}
	case 12, 13:
		c.vary(n.rng)
	case 14:
		c.errors += int64(n.rng.IntN(3))
	case 15, 16, 17:
		n.run(c)
	default:
		if len(n.processes) > 0 {
			i := n.rng.IntN(len(n.processes))
			n.processes = slices.Delete(n.processes, i, i+1)
		}
	}
	return fmt.Sprintf("%s: %d, %q %q %s %.0f, unloaded %v, %d processes", c.Address, what, c.fate, c.faults, c.Status, c.shown, n.unloaded, len(n.processes))
}

func (n *soakAMD) changeAll() {
	for _, c := range n.cards {
		c.changed = true
	}
}

func (n *soakAMD) mend() {
	n.unloaded, n.trouble = false, ""
	for _, c := range n.cards {
		clear(c.faults)
		c.fate = ""
		c.wake()
	}
	if c := n.cards[0]; c.divide != (len(c.Partitions) > 1) {
		n.end(func(u *soakUse) bool { return u.card == c })
		c.partition(c.divide)
	}
}

func (n *soakAMD) touched(at string) bool {
	return slices.ContainsFunc(n.cards, func(c *soakCard) bool { return c.Address == at && (c.changed || c.turn > 0 && n.history.ClockSet) })
}

func (n *soakAMD) settle() {
	for _, c := range n.cards {
		c.changed = false
	}
}
