// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted is a World that counts its calls.
type counted struct {
	h                            *History
	rare, often                  int
	passed                       float64
	checks, recoveries, unproved int // unproved: steps since the last check
}

func (c *counted) Steps() []Step {
	return []Step{
		{"rare", 1, func() string { c.rare++; c.unproved++; return "" }},
		{"often", 9, func() string { c.often++; c.unproved++; return strconv.Itoa(c.h.Rand.IntN(100)) }},
		{"never", 0, func() string { panic("weight 0") }},
	}
}

func (c *counted) Pass(seconds float64) { c.passed += seconds }
func (c *counted) Check() []string      { c.checks++; c.unproved = 0; return nil }
func (c *counted) Recover() []string    { c.recoveries++; return nil }

// A history with the same seed is the same, and each round is checked.
func TestPlayIsRepeatable(t *testing.T) {
	var played []string
	for range 2 {
		h := New(t, 7, 200)
		w := &counted{h: h}
		h.Play(w)
		played = append(played, fmt.Sprint(w.rare, w.often, w.passed, h))
		assert.Greater(t, w.often, 5*w.rare)
		assert.Positive(t, w.rare)
		assert.GreaterOrEqual(t, w.checks, 200)
		assert.Greater(t, w.recoveries, 2)
		assert.Zero(t, w.unproved)
	}
	assert.Equal(t, played[0], played[1])
	other := New(t, 8, 200)
	w := &counted{h: other}
	other.Play(w)
	assert.NotEqual(t, played[0], fmt.Sprint(w.rare, w.often, w.passed, other))
}

// A failure prints the last steps, with their time and details.
func TestHistoryPrintsItsLastSteps(t *testing.T) {
	h := New(t, 1, 0)
	for i := range 40 {
		h.Make(Step{"count", 1, func() string { return strconv.Itoa(i) }})
	}
	assert.NotContains(t, h.String(), "count: 14")
	assert.Contains(t, h.String(), "\n0 s: count: 15\n")
	assert.Contains(t, h.String(), "\n0 s: count: 39")
}

// The environment selects other histories, and each prints how to replay it.
func TestEach(t *testing.T) {
	t.Setenv(Variable, "")
	play := func() (names []string, seeds []uint64) {
		t.Run("plan", func(t *testing.T) {
			Each(t, Plan{Seed: 3, Histories: 2, Rounds: 5}, func(t *testing.T, h *History) {
				names, seeds = append(names, t.Name()), append(seeds, h.Seed)
				assert.Positive(t, h.Rounds)
			})
		})
		return names, seeds
	}
	names, seeds := play()
	assert.Equal(t, []uint64{3, 4}, seeds)
	require.Len(t, names, 2)
	assert.Contains(t, names[1], Variable+"=4:1:5")
	t.Setenv(Variable, "9:1:30")
	_, seeds = play()
	assert.Equal(t, []uint64{9}, seeds)
}

func TestParse(t *testing.T) {
	plan, err := parse("18446744073709551615:2:20")
	require.NoError(t, err)
	assert.Equal(t, Plan{18446744073709551615, 2, 20}, plan)
	assert.Equal(t, "18446744073709551615:2:20", plan.String())
	_, err = parse("7")
	require.ErrorContains(t, err, "set it to seed:histories:rounds")
}
