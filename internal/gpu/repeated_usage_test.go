// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDropRepeatedUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		whole Opt[int64]
		uses  []int64 // -1: not known
		want  bool
	}{
		"repeated":                         {Some[int64](2907979776), []int64{2907979776, 2907979776, 2907979776, 2907979776}, false},
		"repeated, the GPU's is not known": {Opt[int64]{}, []int64{2907979776, 2907979776}, false},
		"repeated, while it grows":         {Some[int64](2900000000), []int64{2907979776, 2907979777, 2907979778}, false},
		"repeated by pairs":                {Some[int64](3e9), []int64{1e9, 1e9, 2e9, 2e9}, false},
		"repeated, one partition is seen":  {Some[int64](2907979776), []int64{-1, 2907979776}, false},
		"its own":                          {Some[int64](10e9), []int64{1e9, 2e9, 3e9, 3e9}, true},
		"its own, while it grows":          {Some[int64](8e9), []int64{1e9, 2e9, 3e9, 3e9}, true},
		"its own, evenly":                  {Some[int64](10e9), []int64{24e8, 24e8, 24e8, 24e8}, true},
		"its own, the GPU's is not known":  {Opt[int64]{}, []int64{1e9, 2e9}, true},
		"its own, one partition is seen":   {Opt[int64]{}, []int64{-1, 2e9}, true},
		"nothing is in use":                {Some[int64](0), []int64{0, 0}, true},
		"nothing is in use of one":         {Some[int64](3e9), []int64{0, 2e9}, true},
	} {
		t.Run(name, func(t *testing.T) {
			partitions := make([]Device, len(tt.uses))
			for i, v := range tt.uses {
				partitions[i].Memory.Limit = Some[int64](48 << 30)
				if v >= 0 {
					partitions[i].Memory.Usage = Some(v)
				}
			}
			DropRepeatedUsage(tt.whole, partitions)
			for i, v := range tt.uses {
				assert.Equal(t, tt.want && v >= 0, partitions[i].Memory.Usage.Known())
				assert.True(t, partitions[i].Memory.Limit.Known())
			}
		})
	}
}
