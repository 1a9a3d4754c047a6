// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// place returns the processes of a node. Only the text of --showpidgpus shows which cards they use. Without it the devices of a process are
// known only if it uses as many as there are. unplaced is the number of processes whose devices are unknown.
func (t *textTables) place(list []process, leaves map[int]smidevice.Leaf) (processes []gpu.Process, unplaced int) {
	for _, p := range list {
		devices := t.devices(&p, leaves)
		if len(devices) == 0 {
			if n, known := p.cards.Get(); !t.cardsRead && (!known || n > 0) {
				unplaced++
			}
			continue
		}
		if n, _ := p.cards.Get(); len(devices) > 1 || n > 1 { // one of the cards may not be listed
			p.memory, p.sdma = gpu.Opt[int64]{}, gpu.Counter[float64]{} // the sums over the devices
		}
		for _, leaf := range devices {
			process := leaf.Process(p.pid)
			process.Memory, process.SDMATime, process.Executable = p.memory, p.sdma, p.name
			processes = append(processes, process)
		}
	}
	smidevice.SortProcesses(processes)
	return processes, unplaced
}

// devices returns the devices of a process.
func (t *textTables) devices(p *process, leaves map[int]smidevice.Leaf) []smidevice.Leaf {
	var result []smidevice.Leaf
	add := func(leaf smidevice.Leaf) {
		if !slices.Contains(result, leaf) {
			result = append(result, leaf)
		}
	}
	if t.cardsRead {
		for _, card := range t.processCards[p.pid] {
			if leaf, ok := leaves[card]; ok {
				add(leaf)
			}
		}
		return result
	}
	// A process that uses as many cards as there are uses them all.
	if n, known := p.cards.Get(); known && n > 0 && n >= len(leaves) {
		for _, leaf := range leaves {
			add(leaf)
		}
	}
	return result
}
