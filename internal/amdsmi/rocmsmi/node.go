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

// nodeBuilder makes the node, and keeps what later reads need for it.
type nodeBuilder struct {
	smidevice.Builder

	want gpu.Group
}

// fill makes the node from the cards. refused are the options that the tool does not know. It returns the error if no card is identified and
// no GPU is known.
func (b *nodeBuilder) fill(out *output, tables *textTables, refused map[string]bool) (*gpu.Node, error) {
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
			b.Problem(gpu.ProblemQuantity, "identity", fmt.Errorf("rocm-smi shows neither a unique id nor a PCI address of card%d; the card is left out", e.Number))
			continue
		}
		if !b.want.Has(gpu.GroupTemperatureDetail) {
			e.Device.TemperatureDetail = nil
		}
		e.Device.Errors = append(e.Device.Errors, tables.errors[e.Number]...)
		listed = append(listed, e)
	}
	if len(listed) == 0 {
		b.Energy.Missed(b.Node.Time)
		return b.NotListed(fmt.Errorf("rocm-smi: %w; run it by hand: rocm-smi --showuniqueid --showbus", smitext.ErrNoIdentity))
	}
	leaves := b.List(listed, complete)
	if out.lowPower {
		b.Problem(gpu.ProblemQuantity, "low power", errors.New("a GPU is asleep, and rocm-smi does not show its temperatures, power and clocks"))
	}
	if b.want.Has(gpu.GroupECC) && refused[optionRAS] {
		b.Problem(gpu.ProblemQuantity, "errors", errors.New("this rocm-smi does not show RAS counts, or crashes when it reads them"))
	}
	last := len(listed) - 1
	// If the list ended early, it may lack partitions of the last GPU. Without its mode it is unknown whether that GPU is divided.
	doubtful := out.err != nil && last >= 0 && listed[last].Profile == "" && !leaves[listed[last].Number].At.Partition.Known()
	if doubtful {
		delete(leaves, listed[last].Number)
	}
	b.addProcesses(out, tables, leaves)
	for i := range b.Node.Devices {
		if d := &b.Node.Devices[i]; doubtful && d.Index == listed[last].Device.Index {
			d.ProcessesUnread = true
		}
	}
	b.AddUnlisted(complete)
	return &b.Node, nil
}

// addProcesses adds the processes to the node.
func (b *nodeBuilder) addProcesses(out *output, tables *textTables, leaves map[int]smidevice.Leaf) {
	list := tables.processes
	if len(list) == 0 || !tables.processesRead {
		list = out.processes()
	}
	var unplaced int
	b.Node.Processes, unplaced = tables.place(list, leaves)
	if unplaced > 0 {
		b.Problem(gpu.ProblemProcesses, "processes", fmt.Errorf("rocm-smi does not show which GPUs %d processes use; the processes are left out", unplaced))
	}
	unread := !b.want.Has(gpu.GroupProcesses) || !tables.cardsRead && len(b.Node.Processes) == 0 || unplaced > 0
	for i := range b.Node.Devices {
		b.Node.Devices[i].ProcessesUnread = unread
	}
}
