// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The driver counts a process's memory in pages of 4 KiB and prints KiB. Several versions of amd-smi convert these to bytes by 1000 instead
// of 1024 (ROCm 6.1 to 9, in spite of a correction in 6.4.2).
const (
	page         = 4096
	decimalPages = 4000
	firstDecimal = 24 // the version of the library, ROCm 6.1
)

// memoryScale is how many bytes a KiB is to a version of amd-smi.
type memoryScale uint8

// correct converts the memory of processes to true bytes: by the scale that these numbers show, or that earlier ones showed, or that the
// library's version is known for.
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

// scaleOf returns the scale that the numbers of bytes in an output show. A true number is a multiple of the page size. If one is not, but
// is a multiple of 4000, all were converted by 1000. Memory is usually allocated in pieces of 2 MiB, whose numbers may be either.
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

// rescale corrects numbers of bytes that were converted by 1000.
func rescale(list []process) {
	for i := range list {
		if !list[i].bytes {
			continue
		}
		for _, v := range [...]*gpu.Opt[int64]{&list[i].memory, &list[i].system} {
			if m, ok := v.Get(); ok {
				*v = gpu.Some(m / 1000 * 1024)
			}
		}
	}
}
