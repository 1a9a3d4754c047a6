// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import "unsafe"

// The lists of processes have three versions by name and three layouts, and the name does not tell the layout: under the third
// version drivers 535.43 to 535.86 write entries of 32 bytes, those before and after them 24, and entries of 16 have been seen.
// All begin with the process and its memory, so what has to be known is how long an entry is, and that there is room.
const (
	entryFirst  = 16 // unsigned int pid; unsigned long long usedGpuMemory
	entrySecond = 24 // and unsigned int gpuInstanceId, computeInstanceId
	entryThird  = 32 // and unsigned long long usedGpuCcProtectedMemory
)

// processEntry is room for an entry of any version.
type processEntry [entryThird]byte

// processMemory is what every version has.
type processMemory struct {
	pid    uint32
	memory uint64
}

// processList reads one of the lists of processes. The result is valid until the next call.
func (c *caller) processList(f function) ([]processMemory, code) {
	which := f - fnComputeProcesses
	room := &c.batch.processes[which]
	answer := c.call(f)
	for range attempts {
		switch ret := answer.code(); ret {
		case codeOK:
			n := min(int(answer.count), room.room)
			if n <= 1 || c.batch.entry[which] != 0 {
				return c.batch.entries(which, n), ret // of one entry the length does not matter
			}
			if answer = c.callAfresh(f); answer.code() == codeOK {
				if n = min(int(answer.count), room.room); n > 1 {
					c.batch.entry[which] = entryLength(room.written(), n, c.batch.direct.entry[which])
				}
			}
		case codeInsufficientSize:
			room.want = max(int(answer.count), room.room+1)
			answer = c.call(f)
		default:
			return nil, ret
		}
	}
	return nil, codeInsufficientSize
}

// callAfresh calls a list's function into room of which it can be seen how much is written.
func (c *caller) callAfresh(f function) *call {
	answer := c.prepare(f)
	c.batch.processes[f-fnComputeProcesses].fill()
	c.batch.run(f)
	return answer
}

// untouched is what room is filled with to see how much of it is written.
const untouched = 0xAA

func (l *cList[T]) all() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(l.p)), l.room*int(unsafe.Sizeof(*l.p))) //nolint:gosec // that is what was allocated
}

func (l *cList[T]) fill() {
	all := l.all()
	for i := range all {
		all[i] = untouched
	}
}

func (l *cList[T]) written() int {
	all := l.all()
	n := len(all)
	for n > 0 && all[n-1] == untouched {
		n--
	}
	return n
}

// entryLength tells how long an entry is of which so many filled so many bytes; what is not plausible is as the version says.
func entryLength(written, n, byVersion int) int {
	for _, length := range []int{entryFirst, entrySecond, entryThird} {
		if written > (n-1)*length && written <= n*length {
			return length
		}
	}
	return byVersion
}

// entries are the first n of a list.
func (b *callBatch) entries(which function, n int) []processMemory {
	b.listed = b.listed[:0]
	for i := range n {
		p := unsafe.Add(unsafe.Pointer(b.processes[which].p), i*b.entry[which]) //nolint:gosec // there is room for the longest
		b.listed = append(b.listed, processMemory{pid: *(*uint32)(p), memory: *(*uint64)(unsafe.Add(p, 8))})
	}
	return b.listed
}
