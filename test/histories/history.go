// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// printed bounds the steps that a failure prints.
const printed = 25

// World is what a history happens to: a simulated machine and what reads it.
type World interface {
	// Steps are what can happen.
	Steps() []Step
	// Pass lets so many seconds pass, and has the machine be as the steps have left it.
	Pass(seconds float64)
	// Check reads the machine and returns what is wrong with what was read.
	Check() []string
	// Recover ends all faults, reads until what is read is true, and returns what is not.
	Recover() []string
}

// History is one life of a World.
type History struct {
	Seed   uint64
	Rounds int
	// Rand decides everything that is random in this history, also in the World.
	Rand *rand.Rand

	t       *testing.T
	seconds float64
	steps   []string // that were made
}

// New returns the history with a seed. Most tests get theirs from Each.
func New(t *testing.T, seed uint64, rounds int) *History {
	t.Helper()
	return &History{Seed: seed, Rounds: rounds, Rand: rand.New(rand.NewPCG(seed, 1)), t: t}
}

// Play recovers the World once, to know it in good health, and then plays the rounds: a few steps, some time, and a few checks;
// from time to time, and at the end, the World recovers.
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

// Require fails the test, with the last steps, when something is wrong.
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

// String is the last steps of the history.
func (h *History) String() string {
	return "last steps:\n" + strings.Join(h.steps[max(0, len(h.steps)-printed):], "\n")
}
