// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"math/rand/v2"
	"slices"
)

// Step is something that can happen.
type Step struct {
	Name   string
	Weight int // how often it happens, compared with the others
	// Do has it happen and returns the details that a reader of the history needs, such as which GPU it was.
	Do func() string
}

// Make makes one of the steps, chosen by weight, and notes it.
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

// OneOf returns one of the values, each as likely as the others.
func OneOf[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// Times returns the steps with n times the weight.
func Times(n int, steps []Step) []Step {
	more := slices.Clone(steps)
	for i := range more {
		more[i].Weight *= n
	}
	return more
}
