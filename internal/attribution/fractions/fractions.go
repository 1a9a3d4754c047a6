// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import "github.com/otelgpu/gpureceiver/internal/gpu"

const mib = 1 << 20

// Part is the part of a GPU that a container was given. What is not known is absent.
type Part struct {
	Share       gpu.Opt[float64] // of the GPU, above 0 and at most 1
	MemoryLimit gpu.Opt[int64]   // bytes that the container may have, as the device plugin says
}

// Grant is what a pod says about the part of one GPU.
type Grant interface {
	// Part returns the part of a GPU with this memory, in bytes.
	Part(memory gpu.Opt[int64]) Part
}

// memoryShare returns the share of a GPU that an amount of its memory is; absent if the GPU's memory is unknown, or if the amount exceeds
// it, which happens if a plugin allocates more memory than there is.
func memoryShare(bytes int64, memory gpu.Opt[int64]) gpu.Opt[float64] {
	total, ok := memory.Get()
	if !ok || total <= 0 || bytes <= 0 || bytes > total {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(bytes) / float64(total))
}
