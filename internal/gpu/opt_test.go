// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestOptional(t *testing.T) {
	var none Opt[int64]
	_, known := none.Get()
	assert.False(t, known)
	assert.Equal(t, Some[int64](7), none.Or(Some[int64](7)))
	assert.Equal(t, Some[int64](0), Some[int64](0).Or(Some[int64](7)), "a 0 that was read is a reading")

	var counter Counter[float64]
	assert.False(t, counter.Known())
	total, known := Total(0.0).Get()
	assert.True(t, known)
	assert.Zero(t, total)
}

func TestKnown(t *testing.T) {
	assert.True(t, Some(0).Known())
	assert.False(t, Opt[int]{}.Known())
	began := time.Unix(1_700_000_000, 0)
	assert.Equal(t, began, TotalSince(1.0, began).Since())
	assert.True(t, Total(1.0).Since().IsZero())
}
