// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"reflect"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// proceed advances the counters of a machine.
func proceed(m *amdgpusim.Machine) {
	for _, c := range m.Cards {
		if c.Readings.Replays != amdgpusim.None {
			c.Readings.Replays += 3
		}
		for i := range c.RAS {
			b := &c.RAS[i]
			b.Corrected += 2
			b.Uncorrected++
		}
		if c.Metrics == nil {
			continue
		}
		table := reflect.ValueOf(c.Metrics).Elem()
		for field, step := range map[string]uint64{"Energy": 1 << 20, "SystemClock": 30e9, "Accumulations": 3000, "PPT": 30} {
			f := table.FieldByName(field)
			if none := ^uint64(0) >> (64 - 8*uint(sizeOf(f))); f.IsValid() && f.Uint() != 0 && f.Uint() != none {
				f.SetUint(f.Uint() + step)
			}
		}
	}
}

func sizeOf(f reflect.Value) uintptr {
	if !f.IsValid() {
		return 8
	}
	return f.Type().Size()
}
