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
	cards  gpu.Opt[int]   // how many it uses: a count, no card's number
	memory gpu.Opt[int64] // bytes, on all of them together
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
		// The fields are read from the right: blanks in a name have become ", ". A name with a colon and a blank in it ends
		// the line there; then nothing but the name is left.
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

// processMemory reads the memory of a process. Several versions print 0 for every process; one that has a card open and no
// byte on it is rarer than they are.
func processMemory(s string) gpu.Opt[int64] {
	memory := smitext.Whole(smitext.Quantity(s, smitext.Bytes, "B"))
	if b, ok := memory.Get(); !ok || b == 0 || b == math.MaxUint32 {
		return gpu.Opt[int64]{}
	}
	return memory
}

// place makes the processes of a node. Which cards they use only the text of --showpidgpus tells; without it, a process is
// known to be on a device where there is but one. It returns how many are on devices that are not told.
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
