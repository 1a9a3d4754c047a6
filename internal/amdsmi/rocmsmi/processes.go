// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// process is a process as rocm-smi lists it.
type process struct {
	pid    int64
	name   string
	cards  gpu.Opt[int]   // the number of cards that it uses
	memory gpu.Opt[int64] // bytes on all these cards together
}

// processes reads the processes of the JSON: "PID104225": "python3, 2, 1073741824, 0, 152", which are its name, the
// number of cards it uses, its memory, its SDMA traffic and its compute units.
func (o *output) processes() []process {
	var list []process
	for key, value := range o.system {
		digits, ok := strings.CutPrefix(key, "PID")
		pid, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || pid <= 0 || len(list) == smidevice.MaxProcesses {
			continue
		}
		p := process{pid: pid}
		// The fields are read from the right, since blanks in a name become ", ". A name that contains ": " ends the line there, and only
		// the name is left.
		fields := strings.Split(value, ", ")
		if n := len(fields); n < 5 {
			p.name = smitext.Label(value)
		} else {
			p.name = smitext.Label(strings.Join(fields[:n-4], " "))
			p.cards, p.memory = cardCount(fields[n-4]), processMemory(fields[n-3])
		}
		list = append(list, p)
	}
	return list
}

func cardCount(s string) gpu.Opt[int] {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 16)
	if err != nil {
		return gpu.Opt[int]{}
	}
	return gpu.Some(int(n))
}

// processMemory reads the memory of a process. 0 is absent: several versions print it for every process, and a process that uses a card but
// no memory is rare.
func processMemory(s string) gpu.Opt[int64] {
	memory := smitext.Whole(smitext.Quantity(s, smitext.Bytes, "B"))
	if b, ok := memory.Get(); !ok || b == 0 || b == math.MaxUint32 {
		return gpu.Opt[int64]{}
	}
	return memory
}

// place returns the processes of a node. Only the text of --showpidgpus shows which cards they use. Without it the device of a process is
// known only where there is one device. unplaced is the number of processes whose devices are not known.
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
			p.memory = gpu.Opt[int64]{} // the sum over the devices
		}
		for _, on := range devices {
			process := on.Process(p.pid)
			process.Memory, process.Executable = p.memory, p.name
			processes = append(processes, process)
		}
	}
	slices.SortFunc(processes, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.DeviceID, b.DeviceID), a.Location.Compare(b.Location))
	})
	return processes, unplaced
}

// devices returns the devices of a process.
func (t *textTables) devices(p *process, leaves map[int]smidevice.Leaf) []smidevice.Leaf {
	var result []smidevice.Leaf
	add := func(on smidevice.Leaf) {
		if !slices.Contains(result, on) {
			result = append(result, on)
		}
	}
	if t.cardsRead {
		for _, card := range t.processCards[p.pid] {
			if on, ok := leaves[card]; ok {
				add(on)
			}
		}
		return result
	}
	if n, known := p.cards.Get(); len(leaves) == 1 && known && n > 0 {
		for _, on := range leaves {
			add(on)
		}
	}
	return result
}
