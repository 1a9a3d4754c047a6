// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// PmonOutput is the output of nvidia-smi pmon.
type PmonOutput struct {
	Processes []Process
	GPUs      map[int64]bool // the GPUs that have a row, by index; an idle one has a row, too
	Dropped   int            // rows that cannot be read or are too many
}

// Pmon reads the output of nvidia-smi pmon. The heading names the columns, which depend on the driver and on the letters of -s, and is
// repeated between rows. A dash means that there is no sample. The command is the last column and may contain spaces. Rows are returned as
// printed; a process may have several.
func Pmon(data []byte) (PmonOutput, error) {
	m := PmonOutput{GPUs: map[int64]bool{}}
	var columns []string
	for line := range lines(clean(data)) {
		if heading, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("#")); ok {
			if names := strings.Fields(strings.ToLower(text(heading))); isPmonHeading(names) {
				columns = names
			}
			continue // the second line of a heading contains the units
		}
		if columns == nil {
			if index, ok := idleRow(line); ok {
				m.GPUs[index] = true
			}
			continue
		}
		if isMessage(line) {
			continue
		}
		p, ok := pmonRow(line, columns)
		if !ok || len(m.Processes) >= maxProcesses {
			m.Dropped++
			continue
		}
		index, _ := p.Index.Get()
		m.GPUs[index] = true
		if p.PID != 0 {
			m.Processes = append(m.Processes, p)
		}
	}
	if columns == nil && len(m.GPUs) == 0 {
		return m, errors.New("no heading that begins with # gpu")
	}
	return m, nil
}

// idleRow reads a row of an idle GPU before the heading. If the name of a process cannot be read, nvidia-smi 535 prints that its GPU is
// idle. For the first GPU it does so before the heading, which is missing if no GPU has another process.
func idleRow(line []byte) (index int64, ok bool) {
	cells := bytes.Fields(line)
	if len(cells) < 4 {
		return 0, false
	}
	for _, cell := range cells[1:] {
		if !bytes.Equal(cell, []byte("-")) {
			return 0, false
		}
	}
	index, ok = integer(cells[0], unitCount)
	return index, ok && index < maxGPUs
}

func isPmonHeading(names []string) bool {
	return slices.Contains(names, "gpu") && slices.Contains(names, "pid")
}

// pmonRow reads one row. The row of an idle GPU has dashes only and yields a Process without a PID.
func pmonRow(line []byte, columns []string) (p Process, ok bool) {
	rest := line
	for i, name := range columns {
		rest = bytes.TrimLeft(rest, " \t")
		if i == len(columns)-1 && (name == "command" || name == "name") {
			if len(bytes.TrimSpace(rest)) == 0 {
				return Process{}, false // cut off, and the number before it may be, too
			}
			p.Name = processName(rest)
			break
		}
		end := bytes.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		cell := rest[:end]
		rest = rest[end:]
		if len(cell) == 0 || !p.pmonCell(name, cell) {
			return Process{}, false
		}
	}
	return p, p.Index.Known()
}

// pmonCell takes one cell. It returns false if the row is not a row of pmon.
func (p *Process) pmonCell(name string, cell []byte) bool {
	dash := bytes.Equal(cell, []byte("-"))
	switch name {
	case "gpu":
		v, ok := integer(cell, unitCount)
		if !ok || v >= maxGPUs {
			return false
		}
		p.Index = gpu.Some(v)
	case "pid":
		pid, ok := processID(cell)
		if !ok && !dash {
			return false
		}
		p.PID = pid
	case "type":
		p.Type = processType(cell)
	case "sm":
		p.Utilization[gpu.TaskGeneral] = percent(cell)
	case "mem":
		p.MemoryController = percent(cell)
	case "enc":
		p.Utilization[gpu.TaskEncoder] = percent(cell)
	case "dec":
		p.Utilization[gpu.TaskDecoder] = percent(cell)
	case "jpg":
		p.Utilization[gpu.TaskJPEG] = percent(cell)
	case "ofa":
		p.Utilization[gpu.TaskOpticalFlow] = percent(cell)
	case "fb":
		// pmon 535 prints 0 if the driver does not return the memory. A process with a context uses more than that.
		if v, ok := integer(cell, unitBytes); ok && v > 0 {
			p.Memory = gpu.Some(v)
		}
	case "gi":
		p.GI = instanceID(cell)
	case "ci":
		p.CI = instanceID(cell)
	}
	return true
}

func percent(cell []byte) gpu.Opt[float64] {
	if v, ok := number(cell, unitFraction); ok && v >= 0 && v <= 1 {
		return gpu.Some(v)
	}
	return gpu.Opt[float64]{}
}

func instanceID(cell []byte) gpu.Opt[int64] {
	if v, ok := integer(cell, unitCount); ok {
		return gpu.Some(v)
	}
	return gpu.Opt[int64]{}
}
