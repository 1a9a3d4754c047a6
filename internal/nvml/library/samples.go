// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

// The kinds of samples (nvmlSamplingType_t).
const (
	SamplesGPU     = 1
	SamplesMemory  = 2
	SamplesEncoder = 3
	SamplesDecoder = 4
	SamplesJPEG    = 8
	SamplesOFA     = 9
)

// Sample is one measurement that the driver keeps (nvmlSample_t).
type Sample struct {
	Time  uint64  // microseconds since 1970, or since boot, by the driver's clock
	Value [8]byte // of the type that comes with the list; see Decode
}

// ProcessSample is what a process used of a GPU, in percent of the time since the sample before (nvmlProcessUtilizationSample_t).
type ProcessSample struct {
	PID     uint32
	Time    uint64 // microseconds since 1970, or since boot, by the driver's clock
	SM      uint32
	Memory  uint32
	Encoder uint32
	Decoder uint32
}
