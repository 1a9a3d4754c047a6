// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	var r Retry
	now := smitest.Start
	r.Failed(now, assert.AnError, true)
	assert.True(t, r.Absent)
	assert.Equal(t, assert.AnError, r.Reason)
	assert.True(t, r.Due(now), "the next read starts the tool again")
	r.Failed(now, assert.AnError, false)
	assert.False(t, r.Absent)
	assert.False(t, r.Due(now.Add(smitest.Seconds(59))))
	assert.True(t, r.Due(now.Add(smitest.Seconds(60))))
}
