// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptional(t *testing.T) {
	var none Opt[int64]
	_, ok := none.Get()
	assert.False(t, ok)
	assert.Equal(t, Some[int64](7), none.Or(Some[int64](7)))
	assert.Equal(t, Some[int64](0), Some[int64](0).Or(Some[int64](7)), "a 0 that was read is a reading")

	var counter Counter[float64]
	assert.False(t, counter.Known())
	total, ok := Total(0.0).Get()
	assert.True(t, ok)
	assert.Zero(t, total)
}

func TestOptionalAsJSON(t *testing.T) {
	type holds struct{ A, B Opt[int64] }
	data, err := json.Marshal(holds{A: Some[int64](0)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"A":0,"B":null}`, string(data))
	again := holds{B: Some[int64](7)}
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, holds{A: Some[int64](0)}, again)
	assert.Error(t, json.Unmarshal([]byte(`{"A":"x"}`), &again))
}

func TestKnown(t *testing.T) {
	assert.True(t, Some(0).Known())
	assert.False(t, Opt[int]{}.Known())
	start := time.Unix(1_700_000_000, 0)
	assert.Equal(t, start, TotalSince(1.0, start).Since())
	assert.True(t, Total(1.0).Since().IsZero())
}
