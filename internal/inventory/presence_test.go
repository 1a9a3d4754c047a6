// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
)

func TestCount(t *testing.T) {
	bus := func(functions ...string) pci.Functions { // address, driver, …
		all := pci.Functions{}
		for i := 0; i < len(functions); i += 2 {
			all = append(all, pci.Function{Address: functions[i], Driver: functions[i+1]})
		}
		return all
	}
	for name, c := range map[string]struct {
		visible, absent             []string
		bus                         pci.Functions
		isVisible, missing, foreign int64 // foreign -1: unknown
	}{
		"nothing":                           {bus: bus()},
		"no bus":                            {visible: []string{"03"}, absent: []string{"04"}, isVisible: 1, missing: 1, foreign: -1},
		"all are read":                      {visible: []string{"03", "04"}, bus: bus("03", "nvidia", "04", "nvidia"), isVisible: 2},
		"off the bus":                       {visible: []string{"03"}, absent: []string{"04"}, bus: bus("03", "nvidia"), isVisible: 1, missing: 1},
		"on the bus, not read":              {visible: []string{"03"}, absent: []string{"04"}, bus: bus("03", "nvidia", "04", "nvidia"), isVisible: 1, missing: 1},
		"never seen, without a driver":      {bus: bus("03", "", "04", "nvidia"), missing: 2},
		"another driver's":                  {visible: []string{"03"}, bus: bus("03", "nvidia", "04", "vfio-pci"), isVisible: 1, foreign: 1},
		"handed over":                       {visible: []string{"03"}, absent: []string{"04"}, bus: bus("03", "nvidia", "04", "vfio-pci"), isVisible: 1, foreign: 1},
		"read, just before it was bound":    {visible: []string{"03"}, bus: bus("03", "vfio-pci"), isVisible: 1},
		"address not known":                 {visible: []string{"", "04"}, bus: bus("03", "nvidia", "04", "nvidia", "05", "nvidia"), isVisible: 2, missing: 1},
		"address of an absent one":          {absent: []string{""}, bus: bus("03", "nvidia"), missing: 1},
		"without a driver is none of these": {visible: []string{""}, bus: bus("03", ""), isVisible: 1, missing: 1},
	} {
		t.Run(name, func(t *testing.T) {
			want := [gpu.NumPresences]gpu.Opt[int64]{gpu.Visible: gpu.Some(c.isVisible), gpu.Missing: gpu.Some(c.missing)}
			if c.foreign >= 0 {
				want[gpu.Unmanaged] = gpu.Some(c.foreign)
			}
			assert.Equal(t, want, Count(c.visible, c.absent, c.bus, "nvidia"))
		})
	}
}
