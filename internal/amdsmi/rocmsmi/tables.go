// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// textTables is what rocm-smi prints as text only: the cards of each process and the RAS counts. The table of processes is in the JSON,
// too, but there all names are in lower case.
type textTables struct {
	processes    []process
	processCards map[int64][]int // by PID; empty for a process that uses none
	errors       map[int][]gpu.ErrorCount
	// cardsRead and processesRead: the section of processCards or processes is there to its end, even if it is empty.
	cardsRead, processesRead bool
	complete                 bool // the output has its end
}

// parseTables reads the text of rocm-smi --showpids, --showpidgpus and --showrasinfo.
//
// A row of the RAS table has the correctable count before the uncorrectable one. The heading is ignored: version 5.2.3 says the reverse
// ("uncorrectable err correctable err"), but prints 7 in the first column for a file with "ue: 1, ce: 7". The heading of 6.1 is correct.
func parseTables(out []byte) textTables {
	t := textTables{processCards: make(map[int64][]int), errors: make(map[int][]gpu.ErrorCount)}
	section := tableReader{tables: &t, card: -1}
	for line := range bytes.Lines(out) {
		section.line(strings.TrimSpace(string(line)))
	}
	return t
}

// tableReader reads the tables line by line.
type tableReader struct {
	tables  *textTables
	pid     int64 // the process whose cards follow
	missing int   // how many cards follow
	placing bool  // the line is in the section of the cards of processes
	listing bool  // the line is in the table of processes
	card    int   // the card whose RAS rows follow; -1: none follow
}

func (r *tableReader) line(text string) {
	t := r.tables
	if strings.HasPrefix(text, "=") {
		t.cardsRead, t.processesRead = t.cardsRead || r.placing, t.processesRead || r.listing
		r.card, r.missing, r.listing = -1, 0, false
		r.placing = strings.Contains(text, " GPUs Indexed by PID ")
		t.complete = t.complete || strings.Contains(text, " End of ROCm SMI Log ")
		return
	}
	if card, ok := cardHeading(text); ok {
		r.card = card
		return
	}
	if pid, n, ok := processHeading(text); ok && len(t.processCards) < smidevice.MaxProcesses {
		r.pid, r.missing = pid, n
		t.processCards[pid] = nil
		return
	}
	switch {
	case r.missing > 0:
		cards, ok := integers(text)
		if !ok {
			r.missing = 0
			return
		}
		cards = cards[:min(len(cards), r.missing)]
		r.missing -= len(cards)
		t.processCards[r.pid] = append(t.processCards[r.pid], cards...)
	case r.card >= 0:
		if len(t.errors[r.card]) < 2*smidevice.MaxBlocks {
			t.errors[r.card] = append(t.errors[r.card], rasRow(text)...)
		}
	case strings.HasPrefix(text, "KFD process information"):
		r.listing = true
	case r.listing && len(t.processes) < smidevice.MaxProcesses:
		if p, ok := processRow(text); ok {
			t.processes = append(t.processes, p)
		}
	}
}

// processRow reads "4242	python3     	1     	1073741824	0 	76 	".
func processRow(line string) (process, bool) {
	cells := strings.Split(line, "\t")
	if len(cells) < 6 {
		return process{}, false
	}
	pid, err := strconv.ParseInt(strings.TrimSpace(cells[0]), 10, 64)
	if err != nil || pid <= 0 {
		return process{}, false
	}
	return process{pid: pid, name: smitext.Label(cells[1]), cards: cardCount(cells[2]), memory: processMemory(cells[3]), sdma: copyTime(cells[4])}, true
}

// cardHeading reads "GPU[0]: 	RAS INFO".
func cardHeading(line string) (int, bool) {
	rest, ok := strings.CutPrefix(line, "GPU[")
	if !ok {
		return 0, false
	}
	digits, rest, ok := strings.Cut(rest, "]")
	if !ok || !strings.HasSuffix(rest, "RAS INFO") {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil && n < smidevice.MaxDevices
}

// processHeading reads "PID 28156 is using 2 DRM device(s):".
func processHeading(line string) (pid int64, cards int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "PID" || fields[3] != "using" {
		return 0, 0, false
	}
	pid, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(fields[4], 10, 16)
	return pid, int(min(n, smidevice.MaxDevices)), err == nil
}

// integers reads a line of card numbers: "0 1 ".
func integers(line string) ([]int, bool) {
	fields := strings.Fields(line)
	result := make([]int, 0, len(fields))
	for _, f := range fields {
		n, err := strconv.ParseUint(f, 10, 16)
		if err != nil {
			return nil, false
		}
		result = append(result, int(n))
	}
	return result, len(result) > 0
}

// rasRow reads "UMC        ENABLED                  7                    1". Blocks that count nothing have no numbers.
func rasRow(line string) []gpu.ErrorCount {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return nil
	}
	corrected, err1 := strconv.ParseInt(fields[2], 10, 64)
	uncorrected, err2 := strconv.ParseInt(fields[3], 10, 64)
	if err1 != nil || err2 != nil || corrected < 0 || uncorrected < 0 {
		return nil
	}
	block := strings.ToLower(smitext.Label(fields[0]))
	return []gpu.ErrorCount{
		{Type: gpu.ErrorCorrected, Block: block, Count: gpu.Total(corrected)},
		{Type: gpu.ErrorUncorrected, Block: block, Count: gpu.Total(uncorrected)},
	}
}
