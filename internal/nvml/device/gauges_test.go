// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGauges(t *testing.T) {
	for i := range gauges {
		g := &gauges[i]
		assert.NotZero(t, g.group, "gauge %d", i)
		assert.NotEmpty(t, g.function.What, "gauge %d", i)
		assert.Regexp(t, `^nvmlDeviceGet\w+$`, g.function.Symbol())
	}
}
