// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// steps are the possible events of the GPUs, the driver and the processes.
func (n *amdNode) steps() []histories.Step {
	steps := []histories.Step{
		{Name: "file spoiled", Weight: 4, Do: n.onGPU(func(c *amdGPU) {
			c.faults[histories.OneOf(n.rng, amdFiles...)] = histories.OneOf(n.rng, "missing", "error", "empty", "cut", "garbage", "garbage", "hangs")
		})},
		{Name: "files without fault", Weight: 2, Do: n.onGPU(func(c *amdGPU) { clear(c.faults) })},
		{Name: "GPU removed or back", Weight: 1, Do: n.onGPU(n.removeOrAdd)},
		{Name: "partitions changed", Weight: 1, Do: n.repartition},
		{Name: "GPU sleeps or wakes", Weight: 1, Do: n.onGPU(func(c *amdGPU) {
			n.endOn(c)
			if c.Status != "active" {
				c.wake()
				return
			}
			c.Status, c.dozed = "suspended", n.tool == ""
		})},
		{Name: "GPU sleeps between two reads", Weight: 1, Do: n.onGPU(func(c *amdGPU) {
			n.endOn(c)
			switch {
			case c.Status != "active":
				c.wake()
			case n.tool == "": // with a tool a reset may look like a wrap
				c.slept += 1 + n.rng.Float64()
				c.reset()
			}
		})},
		{Name: "GPU reset", Weight: 1, Do: n.onGPU(func(c *amdGPU) {
			if c.turn == 0 && n.tool == "" {
				c.reset()
			}
		})},
		{Name: "driver replaced or unloaded", Weight: 1, Do: n.replaceDriver},
		{Name: "load changed", Weight: 2, Do: n.withGPU(func(c *amdGPU) { c.vary(n.rng) })},
		{Name: "errors corrected", Weight: 1, Do: n.withGPU(func(c *amdGPU) { c.errors += int64(n.rng.IntN(3)) })},
		{Name: "process started", Weight: 3, Do: n.withGPU(n.run)},
		{Name: "process ended", Weight: 2, Do: func() string {
			if len(n.processes) > 0 {
				i := n.rng.IntN(len(n.processes))
				n.processes = slices.Delete(n.processes, i, i+1)
			}
			return fmt.Sprint(len(n.processes), " left")
		}},
	}
	if n.tool != "" {
		steps = append(steps, histories.Step{Name: "tool", Weight: 3, Do: func() string {
			n.trouble = histories.OneOf(n.rng, "", "absent", "hangs", "cut")
			n.touchAll()
			return n.trouble
		}})
	}
	return steps
}

// withGPU changes one of the GPUs, and returns a description of the GPU and its new state.
func (n *amdNode) withGPU(do func(*amdGPU)) func() string {
	return func() string {
		c := histories.OneOf(n.rng, n.cards...)
		do(c)
		return fmt.Sprintf("%s: %q %q %s, %.0f J shown", c.Address, c.fate, c.faults, c.Status, c.shown)
	}
}

// onGPU changes one of the GPUs.
func (n *amdNode) onGPU(do func(*amdGPU)) func() string {
	return n.withGPU(func(c *amdGPU) {
		c.changed = true
		do(c)
	})
}

// endOn ends the processes on a GPU.
func (n *amdNode) endOn(c *amdGPU) { n.end(func(u *amdProcess) bool { return u.card == c }) }

func (n *amdNode) removeOrAdd(c *amdGPU) {
	n.endOn(c)
	if c.fate != "" {
		c.fate = ""
	} else {
		c.fate = histories.OneOf(n.rng, "absent", "vfio-pci")
	}
	n.touchAll() // the tools number them again
	c.errors = 0
}

// repartition changes the partitions of the first GPU.
func (n *amdNode) repartition() string {
	c := n.cards[0]
	if c.Status != "active" {
		return "not while it sleeps"
	}
	n.touchAll()
	clear(c.faults)
	c.again = c.again || n.rng.IntN(4) == 0
	c.partition(len(c.Partitions) == 1)
	n.endOn(c)
	return fmt.Sprint(len(c.Partitions), " partitions")
}

func (n *amdNode) replaceDriver() string {
	n.unloaded = !n.unloaded && n.rng.IntN(2) == 0
	n.driver++
	n.processes = nil
	n.touchAll()
	for _, c := range n.cards {
		c.again, c.errors = true, 0
		if c.turn > 0 && n.tool == "" {
			c.shown = 0
		}
	}
	return fmt.Sprintf("version %d, unloaded %v", n.driver, n.unloaded)
}

func (n *amdNode) pass(seconds float64) {
	for _, c := range n.cards {
		c.pass(seconds)
	}
}

func (n *amdNode) touchAll() {
	for _, c := range n.cards {
		c.changed = true
	}
}

func (n *amdNode) recover() {
	n.unloaded, n.trouble = false, ""
	for _, c := range n.cards {
		clear(c.faults)
		c.fate = ""
		c.wake()
	}
	if c := n.cards[0]; c.divide != (len(c.Partitions) > 1) {
		n.end(func(u *amdProcess) bool { return u.card == c })
		c.partition(c.divide)
	}
}

func (n *amdNode) touched(address string) bool {
	return slices.ContainsFunc(n.cards, func(c *amdGPU) bool { return c.Address == address && (c.changed || c.turn > 0 && n.sequence.ClockSet) })
}

func (n *amdNode) settle() {
	for _, c := range n.cards {
		c.changed = false
	}
}
