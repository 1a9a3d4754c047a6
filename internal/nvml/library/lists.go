// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

const (
	// listAttempts bounds how often a list is read that grows while it is read.
	listAttempts = 4
	minRoom      = 64
	maxRoom      = 1 << 16 // entries
)

// roomFor is for how many entries there is room when there were n, so that a list that grows a little is read in one call.
func roomFor(n int) int { return min(max(minRoom, n+n/4), maxRoom) }

// SampleList reads the samples that the driver keeps of an engine's utilization (nvmlDeviceGetSamples). It remembers how many there may be,
// and so needs one call instead of the two of the binding.
type SampleList struct{ list []Sample }

// Read returns the samples that are newer than a time in microseconds, 0 for all, and the type of their values. They are valid until the
// next Read.
func (l *SampleList) Read(d Device, f *Function, engine int32, since uint64) ([]Sample, uint32, Code) {
	if since == 0 || l.list == nil {
		count, _, code := d.list.samples(f, engine, 0, nil)
		if code != OK {
			return nil, 0, code
		}
		l.list = make([]Sample, roomFor(count))
	}
	n, kind, code := d.list.samples(f, engine, since, l.list)
	if code != OK {
		return nil, 0, code
	}
	samples := l.list[:min(n, len(l.list))]
	if n >= len(l.list) {
		l.list = make([]Sample, roomFor(2*len(l.list))) // there may have been more
	}
	return samples, kind, OK
}

// ProcessSampleList reads the samples that the driver keeps of what each process uses (nvmlDeviceGetProcessUtilization).
type ProcessSampleList struct{ list []ProcessSample }

// Read returns the samples that are newer than a time in microseconds, 0 for all. They are valid until the next Read.
func (l *ProcessSampleList) Read(d Device, f *Function, since uint64) ([]ProcessSample, Code) {
	if l.list == nil {
		l.list = make([]ProcessSample, minRoom)
	}
	for range listAttempts {
		n, code := d.list.processSamples(f, since, l.list)
		switch code {
		case OK:
			return l.list[:min(n, len(l.list))], OK
		case InsufficientSize:
			l.list = make([]ProcessSample, roomFor(max(n, len(l.list)+1)))
		default:
			return nil, code
		}
	}
	return nil, InsufficientSize
}
