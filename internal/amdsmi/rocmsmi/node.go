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

// fill makes the node from the cards.
func (s *Source) fill(out *output, tables *textTables) {
	if tables == nil {
		tables = &textTables{}
	}
	complete := out.err == nil
	driver := smitext.Label(out.system["Driver version"])
	listed := make([]smidevice.Listed, 0, len(out.cards))
	for i := range out.cards {
		e := out.cards[i].listed(driver)
		if e.UniqueID == "" && e.Address == (smitext.Address{}) {
			complete = false
			s.problem(gpu.ProblemQuantity, "identity", fmt.Errorf("rocm-smi shows neither a unique id nor a PCI address of card%d; the card is left out", e.Number))
			continue
		}
		e.Device.Errors = append(e.Device.Errors, tables.errors[e.Number]...)
		listed = append(listed, e)
	}
	s.known.IDs.Complete(listed, complete)
	leaves := s.known.List(&s.node, smidevice.GPUs(listed))
	s.energy.Unwrap(s.node.Devices, s.node.Time)
	s.energy.Missed(s.node.Time)
	if out.lowPower {
		s.problem(gpu.ProblemQuantity, "low power", errors.New("a GPU is asleep, and rocm-smi does not show its temperatures, power and clocks"))
	}
	if s.want.Has(gpu.GroupECC) && s.refused[optionRAS] {
		s.problem(gpu.ProblemQuantity, "errors", errors.New("this rocm-smi does not show RAS counts, or aborts when it reads them"))
	}
	last := len(listed) - 1
	// Where the list ended early, it may lack partitions of the last GPU. Without its mode it is not known whether that GPU is divided.
	doubtful := out.err != nil && last >= 0 && listed[last].Profile == "" && !leaves[listed[last].Number].At.Partition.Known()
	if doubtful {
		delete(leaves, listed[last].Number)
	}
	s.addProcesses(out, tables, leaves)
	for i := range s.node.Devices {
		if d := &s.node.Devices[i]; doubtful && d.Index == listed[last].Device.Index {
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
		s.problem(gpu.ProblemProcesses, "processes", fmt.Errorf("rocm-smi does not show which GPUs %d processes use; the processes are left out", unplaced))
	}
	unread := !s.want.Has(gpu.GroupProcesses) || !tables.cardsRead && len(s.node.Processes) == 0 || unplaced > 0
	for i := range s.node.Devices {
		s.node.Devices[i].ProcessesUnread = unread
	}
}
