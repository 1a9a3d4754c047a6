// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Explanation explains why values of a tool differ from the values of our own source. The patterns must match the whole text.
type Explanation struct {
	Machines, Tools, Values string
	Covers                  func(ours, theirs any) bool
	Why                     string
}

// Because returns an Explanation.
func Because(machines, tools, values string, covers func(ours, theirs any) bool, why string) Explanation {
	return Explanation{Machines: machines, Tools: tools, Values: values, Covers: covers, Why: why}
}

// Explanations are all explanations for some tools. Every difference must have one, and each must match a difference.
type Explanations struct {
	list []Explanation
	used []bool
}

// New returns the explanations.
func New(list []Explanation) *Explanations {
	return &Explanations{list: list, used: make([]bool, len(list))}
}

// Compare fails the test for every value that differs and is not explained. It returns the number of equal values.
func (e *Explanations) Compare(t *testing.T, machine, tool string, ours, theirs Values) int {
	t.Helper()
	names := slices.Sorted(maps.Keys(ours))
	for name := range theirs {
		if _, both := ours[name]; !both {
			names = append(names, name)
		}
	}
	compared, explained := 0, 0
	for _, name := range names {
		a, here := ours[name]
		b, there := theirs[name]
		if here && there && equal(a, b) {
			compared++
			continue
		}
		if i := e.explain(machine, tool, name, a, b); i >= 0 {
			e.used[i] = true
			explained++
			continue
		}
		switch {
		case !there:
			t.Errorf("%s: %v by our own source, the tool reports nothing", name, a)
		case !here:
			t.Errorf("%s: %v by the tool, our own source reports nothing", name, b)
		default:
			t.Errorf("%s: %v by our own source, %v by the tool", name, a, b)
		}
	}
	t.Logf("%d values agree, %d differ for known reasons", compared, explained)
	return compared
}

// Unused fails the test for every explanation that matched no difference.
func (e *Explanations) Unused(t *testing.T) {
	t.Helper()
	for i, used := range e.used {
		if !used {
			assert.Fail(t, "no difference is left to explain", "%s, %s, %s: %s", e.list[i].Machines, e.list[i].Tools, e.list[i].Values, e.list[i].Why)
		}
	}
}

// explain returns the index of the explanation of a difference; -1: none.
func (e *Explanations) explain(machine, tool, name string, ours, theirs any) int {
	for i := range e.list {
		x := &e.list[i]
		if matches(x.Machines, machine) && matches(x.Tools, tool) && matches(x.Values, name) && x.Covers(ours, theirs) {
			return i
		}
	}
	return -1
}

func matches(pattern, s string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s)
}

func equal(a, b any) bool {
	x, isNumber := a.(float64)
	y, also := b.(float64)
	if isNumber && also {
		return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
	}
	return a == b
}

// Missing covers values that the tool does not have.
func Missing(ours, theirs any) bool { return ours != nil && theirs == nil }

// More covers values that only the tool has.
func More(ours, theirs any) bool { return ours == nil && theirs != nil }

// Differs covers values that both have.
func Differs(ours, theirs any) bool { return ours != nil && theirs != nil }

// Near covers values that both have and that differ by no more than a tolerance.
func Near(most float64) func(ours, theirs any) bool {
	return func(ours, theirs any) bool {
		a, ok := ours.(float64)
		b, also := theirs.(float64)
		return ok && also && math.Abs(a-b) <= most
	}
}
