// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// printed limits the number of steps that a failure prints.
const printed = 25

// World is the subject of a history: a simulated machine and its reader.
type World interface {
	// Steps returns the possible events.
	Steps() []Step
	// Pass advances the time by this many seconds, and puts the machine into the state that the steps have defined.
	Pass(seconds float64)
	// Check reads the machine and returns the errors in the result.
	Check() []string
	// Recover ends all faults, reads until the result is true, and returns the remaining errors.
	Recover() []string
}

// History is one run of a World.
type History struct {
	Seed   uint64
	Rounds int
	// Rand is the source of all randomness in this history, including the World's.
	Rand *rand.Rand

	t       *testing.T
	seconds float64
	steps   []string // that were made
}

// New returns the history with a seed. Most tests use Each.
func New(t *testing.T, seed uint64, rounds int) *History {
	t.Helper()
	return &History{Seed: seed, Rounds: rounds, Rand: rand.New(rand.NewPCG(seed, 1)), t: t}
}

// Play recovers the World once, to start in a healthy state, and then plays the rounds: a few steps, some time, and a few checks. From time
// to time, and at the end, the World recovers.
func (h *History) Play(w World) {
	h.t.Helper()
	h.recover(w)
	for range h.Rounds {
		for range 1 + h.Rand.IntN(3) {
			h.Make(w.Steps()...)
		}
		h.pass(w, 1+h.Rand.Float64()*60)
		for range 1 + h.Rand.IntN(3) {
			h.Require(w.Check())
			h.pass(w, float64(1+h.Rand.IntN(20)))
		}
		if h.Rand.IntN(10) == 0 {
			h.recover(w)
		}
	}
	h.recover(w)
}

func (h *History) pass(w World, seconds float64) {
	h.seconds += seconds
	w.Pass(seconds)
}

func (h *History) recover(w World) {
	h.t.Helper()
	h.Note("recover")
	h.Require(w.Recover())
}

// Require fails the test, with the last steps, if there are errors.
func (h *History) Require(wrong []string) {
	h.t.Helper()
	if len(wrong) > 0 {
		h.t.Fatalf("%s\n%s", strings.Join(wrong, "\n"), h)
	}
}

// Note adds a line to the history. Make notes each step itself.
func (h *History) Note(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf("%.0f s: ", h.seconds)+fmt.Sprintf(format, args...))
}

// String returns the last steps of the history.
func (h *History) String() string {
	return "last steps:\n" + strings.Join(h.steps[max(0, len(h.steps)-printed):], "\n")
}
