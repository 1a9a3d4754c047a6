// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "math"

// numberPool keeps the numbers of the form of one node in few pieces of memory.
type numberPool struct {
	floats []float64
	ints   []int
}

const numbersInPiece = 64

// float returns nil for what is no number: a quotient of absurd numbers.
func (p *numberPool) float(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if len(p.floats) == cap(p.floats) {
		p.floats = make([]float64, 0, numbersInPiece)
	}
	p.floats = append(p.floats, v)
	return &p.floats[len(p.floats)-1]
}

// int returns nil for what is no whole number that a count, a number of lanes or a state could be.
func (p *numberPool) int(v float64) *int {
	if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) {
		return nil
	}
	if len(p.ints) == cap(p.ints) {
		p.ints = make([]int, 0, numbersInPiece)
	}
	p.ints = append(p.ints, int(v))
	return &p.ints[len(p.ints)-1]
}
