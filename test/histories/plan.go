// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package histories

import (
	"fmt"
	"os"
	"testing"
)

// Variable is the environment variable that selects other histories: seed:histories:rounds.
const Variable = "GPURECEIVER_HISTORY"

// Plan defines the histories that a test plays.
type Plan struct {
	Seed      uint64 // of the first history; the others have the numbers after it
	Histories int
	Rounds    int // of steps, in each history
}

// String returns the plan in the format of Variable.
func (p Plan) String() string { return fmt.Sprintf("%d:%d:%d", p.Seed, p.Histories, p.Rounds) }

// parse returns the plan that a text describes.
func parse(text string) (Plan, error) {
	var p Plan
	if _, err := fmt.Sscanf(text, "%d:%d:%d", &p.Seed, &p.Histories, &p.Rounds); err != nil {
		return Plan{}, fmt.Errorf("%s=%s: %w; set it to seed:histories:rounds", Variable, text, err)
	}
	return p, nil
}

// Each plays every history of a plan, or of the plan in the environment, as a subtest. The subtest's name replays it.
func Each(t *testing.T, plan Plan, play func(t *testing.T, h *History)) {
	t.Helper()
	if text := os.Getenv(Variable); text != "" {
		var err error
		if plan, err = parse(text); err != nil {
			t.Fatal(err)
		}
	}
	for i := range plan.Histories {
		one := Plan{Seed: plan.Seed + uint64(i), Histories: 1, Rounds: plan.Rounds}
		t.Run(fmt.Sprint(Variable, "=", one), func(t *testing.T) { play(t, New(t, one.Seed, one.Rounds)) })
	}
}
