// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"math"
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
	cards  gpu.Opt[int]         // the number of cards that it uses
	memory gpu.Opt[int64]       // bytes on all these cards together
	sdma   gpu.Counter[float64] // seconds in which copy engines of all these cards worked for it
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
		// The fields are read from the right, because blanks in a name become ", ". A name that contains ": " ends the line there, and only
		// the name is left.
		fields := strings.Split(value, ", ")
		if n := len(fields); n < 5 {
			p.name = smitext.Label(value)
		} else {
			p.name = smitext.Label(strings.Join(fields[:n-4], " "))
			p.cards, p.memory, p.sdma = cardCount(fields[n-4]), processMemory(fields[n-3]), copyTime(fields[n-2])
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

// copyTime reads the microseconds in which copy engines worked for a process. 0 is absent: several versions print it if they cannot read
// the time.
func copyTime(s string) gpu.Counter[float64] {
	spent, ok := smitext.Quantity(s, smitext.Seconds, "us").Get()
	if !ok || spent == 0 || spent == math.MaxUint32/1e6 {
		return gpu.Counter[float64]{}
	}
	return gpu.Total(spent)
}
