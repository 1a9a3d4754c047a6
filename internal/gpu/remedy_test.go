// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each fault has a remedy and one place among the others.
func TestEachFaultHasARemedy(t *testing.T) {
	for fault := range NumFaultTypes {
		r := RemedyFor(fault)
		assert.Equal(t, fault, r.Fault)
		for _, part := range []string{r.Name, r.Action, r.First, r.Alert} {
			assert.NotEmpty(t, part, "fault %d", fault)
		}
		assert.Regexp(t, `^[A-Z][^;]+\.$`, r.Text())
	}
}

func TestMostUrgentRemedy(t *testing.T) {
	assert.Equal(t, FaultHung, RemedyFor(FaultRemapPending, FaultHung).Fault)
	assert.Equal(t, "Let its work finish, start no new work, then reset the GPU.", RemedyFor(FaultDrain).Text())
	assert.Empty(t, RemedyFor().Text())
}
