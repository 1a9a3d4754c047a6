// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLocation(t *testing.T) {
	assert.Equal(t, Location{PCIAddress: "card1"}, (&Device{Name: "card1"}).Location())
	first := Location{PCIAddress: "0000:01:00.0"}
	sorted := []Location{first, {first.PCIAddress, Some(0)}, {first.PCIAddress, Some(2)}, {PCIAddress: "0000:02:00.0"}}
	shuffled := []Location{sorted[2], sorted[3], sorted[1], sorted[0]}
	slices.SortFunc(shuffled, Location.Compare)
	assert.Equal(t, sorted, shuffled)
}
