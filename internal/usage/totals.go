// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Total is the sum of the increases of a counter, as far as they were seen.
type Total struct {
	Sum   float64 `json:"sum"`
	Known bool    `json:"known,omitempty"` // an increase was seen
	// Counter and Since are the counter's value and start at the last read that had it. Since is zero before that read.
	Counter float64   `json:"counter,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// add adds the increase of a counter since before, the last read that showed the allocation; before is zero if this read is the first. A counter that has
// started since then has increased by its whole value.
func (t *Total) add(c gpu.Counter[float64], before time.Time) {
	value, ok := c.Get()
	if !ok {
		return
	}
	since := c.Since().Round(0)
	switch {
	case since.Equal(t.Since) && !t.Since.IsZero() && value >= t.Counter:
		t.plus(value - t.Counter)
	case !before.IsZero() && !since.Before(before):
		if value > 0 {
			t.plus(value)
		}
	}
	t.Counter, t.Since = value, since
}

// plus adds to the sum.
func (t *Total) plus(v float64) { t.Sum, t.Known = t.Sum+v, true }

func (t *Total) value() gpu.Opt[float64] {
	if !t.Known {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(t.Sum)
}

// Memory is the device memory that was in use at the reads.
type Memory struct {
	Peak  int64   `json:"peak,omitempty"`  // bytes
	Sum   float64 `json:"sum,omitempty"`   // bytes, over all reads
	Reads int64   `json:"reads,omitempty"` // that knew it
}

func (m *Memory) add(bytes gpu.Opt[int64]) {
	if v, ok := bytes.Get(); ok {
		m.Peak, m.Sum, m.Reads = max(m.Peak, v), m.Sum+float64(v), m.Reads+1
	}
}

// set sets the peak and the mean in a use.
func (m *Memory) set(u *gpu.Use) {
	if m.Reads > 0 {
		u.MemoryPeak, u.MemoryMean = gpu.Some(m.Peak), gpu.Some(int64(m.Sum/float64(m.Reads)))
	}
}
