// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import "encoding/binary"

// The lists of processes have three versions by name and three layouts, and the name does not determine the layout: under the third version
// drivers 535.43 to 535.86 write entries of 32 bytes, earlier and later drivers 24, and entries of 16 have been seen. All start with the
// process and its memory. So only the length of an entry is needed, and room for the longest.
const (
	entryFirst  = 16 // unsigned int pid; unsigned long long usedGpuMemory
	entrySecond = 24 // and unsigned int gpuInstanceId, computeInstanceId
	entryThird  = 32 // and unsigned long long usedGpuCcProtectedMemory
)

// Process is what every version of an entry has.
type Process struct {
	PID    uint32
	Memory uint64 // bytes
}

// ProcessList reads one of a device's lists of processes (nvmlDeviceGetComputeRunningProcesses and the like).
type ProcessList struct {
	list  []byte // room for entries of any length
	entry int    // bytes; 0: not known yet
}

// unwritten fills the part of the list that the driver has not written.
const unwritten = 0xAA

// Read returns the processes.
func (l *ProcessList) Read(d Device, f *Function) ([]Process, Code) {
	room := max(minRoom, len(l.list)/entryThird)
	for range listAttempts {
		if len(l.list) < room*entryThird {
			l.list = make([]byte, room*entryThird)
		}
		if l.entry == 0 {
			for i := range l.list {
				l.list[i] = unwritten
			}
		}
		n, code := d.list.processes(f, l.list, room)
		switch code {
		case OK:
			n = min(n, room)
			if l.entry == 0 && n > 1 { // the length of a single entry does not matter
				l.entry = entryLength(l.written(), n, d.list.entryByVersion(f))
			}
			return l.processes(n), OK
		case InsufficientSize:
			room = roomFor(max(n, room+1))
		default:
			return nil, code
		}
	}
	return nil, InsufficientSize
}

func (l *ProcessList) written() int {
	n := len(l.list)
	for n > 0 && l.list[n-1] == unwritten {
		n--
	}
	return n
}

// entryLength returns the length of an entry if n entries filled that many bytes. If that length is not plausible, it is the length of the
// function's version.
func entryLength(written, n, byVersion int) int {
	for _, length := range []int{entryFirst, entrySecond, entryThird} {
		if written > (n-1)*length && written <= n*length {
			return length
		}
	}
	return byVersion
}

// entryByVersion is the usual length of the entries that the newest version of a function writes.
func (h listHandle) entryByVersion(f *Function) int {
	if h.symbols.find(f) == h.symbols.find(NewFunction(f.What, f.Symbol())) {
		return entryFirst
	}
	return entrySecond
}

func (l *ProcessList) processes(n int) []Process {
	all := make([]Process, n)
	for i := range all {
		entry := l.list[i*l.entry:]
		all[i] = Process{PID: binary.NativeEndian.Uint32(entry), Memory: binary.NativeEndian.Uint64(entry[8:])}
	}
	return all
}
