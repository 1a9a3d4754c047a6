// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// The sample has each event of the receiver. The page shows each with its place and what it says.
func TestEveryEvent(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/events")
	want := ask[view.List[view.Event]](p, "events?limit=1000").Items
	shown := rows(p)
	if !assert.Len(t, shown, len(want)) {
		return
	}
	for i, e := range want {
		assert.Equal(t, e.Name, shown[i][2])
		assert.Equal(t, or(e.GPU, dash), shown[i][4], e.Name)
		if e.Body != nil {
			assert.Equal(t, *e.Body, shown[i][5])
		}
	}
}
