// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The driver counts a process's memory in pages of 4 KiB and prints KiB; several versions of amd-smi make bytes of them by
// 1000 instead of 1024 (ROCm 6.1 to 9, in spite of a correction in 6.4.2).
const (
	page         = 4096
	decimalPages = 4000
	firstDecimal = 24 // the version of the library, ROCm 6.1
)

// memoryScale is what a version of amd-smi makes bytes of KiB by.
type memoryScale uint8

// correct brings the memory of processes to what it is: by the scale that their numbers show, else the one that earlier ones showed, else
// that of the library's version.
func (m *memoryScale) correct(list []process, version int) {
	if shown := scaleOf(list); shown != scaleUnknown {
		*m = shown
	}
	if *m == scaleDecimal || *m == scaleUnknown && version >= firstDecimal && version < exactProcesses {
		rescale(list)
	}
}

const (
	scaleUnknown memoryScale = iota
	scaleExact               // 1024
	scaleDecimal             // 1000
)

// scaleOf tells the scale by the numbers of bytes in an output. A true one is a multiple of a page's; where one cannot be, but is
// one of 4000, all were made that way. Memory is mostly allocated in pieces of 2 MiB, and such numbers may be either.
func scaleOf(list []process) memoryScale {
	scale := scaleUnknown
	for _, p := range list {
		m, _ := p.memory.Get()
		switch {
		case !p.bytes:
		case m%page == 0 && m%decimalPages != 0, m%page != 0 && m%decimalPages != 0:
			return scaleExact
		case m%page != 0:
			scale = scaleDecimal
		}
	}
	return scale
}

// rescale brings numbers of bytes that were made by 1000 to what they are.
func rescale(list []process) {
	for i := range list {
		if m, ok := list[i].memory.Get(); ok && list[i].bytes {
			list[i].memory = gpu.Some(m / 1000 * 1024)
		}
	}
}
