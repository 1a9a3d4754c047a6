// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"math/rand/v2"
	"slices"
)

// Step is a possible event.
type Step struct {
	Name   string
	Weight int // its frequency, relative to the others
	// Do executes it and returns the details that a reader of the history needs, such as the GPU.
	Do func() string
}

// Make executes one of the steps, chosen by weight, and records it.
func (h *History) Make(steps ...Step) {
	step := choose(h.Rand, steps)
	details := step.Do()
	if details != "" {
		details = ": " + details
	}
	h.Note("%s%s", step.Name, details)
}

func choose(rng *rand.Rand, steps []Step) Step {
	total := 0
	for _, s := range steps {
		total += s.Weight
	}
	n := rng.IntN(total)
	for _, s := range steps {
		if n -= s.Weight; n < 0 {
			return s
		}
	}
	panic("unreachable: the weights are the range of n")
}

// OneOf returns one of the values with equal probability.
func OneOf[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// Times returns the steps with n times the weight.
func Times(n int, steps []Step) []Step {
	more := slices.Clone(steps)
	for i := range more {
		more[i].Weight *= n
	}
	return more
}
