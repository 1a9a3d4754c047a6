// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"errors"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fill makes the node of the cards.
func (s *Source) fill(out *output, tables *textTables) {
	if tables == nil {
		tables = &textTables{}
	}
	complete := out.err == nil
	driver := smitext.Label(out.system["Driver version"])
	entries := make([]smidevice.Listed, 0, len(out.cards))
	for i := range out.cards {
		e := out.cards[i].listed(driver)
		if e.UniqueID == "" && e.Address == (smitext.Address{}) {
			complete = false
			s.problem(gpu.ProblemQuantity, "identity", fmt.Errorf("rocm-smi shows neither a unique id nor a PCI address of card%d: it is left out", e.Number))
			continue
		}
		e.Device.Errors = append(e.Device.Errors, tables.errors[e.Number]...)
		entries = append(entries, e)
	}
	s.known.IDs.Complete(entries, complete)
	leaves := s.known.List(&s.node, smidevice.GPUs(entries))
	s.energy.Unwrap(s.node.Devices, s.node.Time)
	s.energy.Missed(s.node.Time)
	if out.lowPower {
		s.problem(gpu.ProblemQuantity, "low power", errors.New("a GPU is asleep, and rocm-smi shows no temperatures, power and clocks of it"))
	}
	if s.want.Has(gpu.GroupECC) && s.refused[optionRAS] {
		s.problem(gpu.ProblemQuantity, "errors", errors.New("this rocm-smi does not tell the RAS counts, or aborts when it reads them"))
	}
	last := len(entries) - 1
	// Where the list ended early, partitions of the last GPU may be missing in it; without a mode it is not known whether it is divided.
	doubtful := out.err != nil && last >= 0 && entries[last].Profile == "" && !leaves[entries[last].Number].At.Partition.Known()
	if doubtful {
		delete(leaves, entries[last].Number)
	}
	s.addProcesses(out, tables, leaves)
	for i := range s.node.Devices {
		if d := &s.node.Devices[i]; doubtful && d.Index == entries[last].Device.Index {
			d.ProcessesUnread = true
		}
	}
	if complete {
		s.known.AddLost(&s.node)
	}
}

// addProcesses adds the processes to the node.
func (s *Source) addProcesses(out *output, tables *textTables, leaves map[int]smidevice.Leaf) {
	list := tables.processes
	if len(list) == 0 || !tables.processesRead {
		list = out.processes()
	}
	var unplaced int
	s.node.Processes, unplaced = tables.place(list, leaves)
	if unplaced > 0 {
		s.problem(gpu.ProblemProcesses, "processes", fmt.Errorf("rocm-smi does not tell which GPUs %d processes use: they are left out", unplaced))
	}
	unread := !s.want.Has(gpu.GroupProcesses) || !tables.cardsRead && len(s.node.Processes) == 0 || unplaced > 0
	for i := range s.node.Devices {
		s.node.Devices[i].ProcessesUnread = unread
	}
}
