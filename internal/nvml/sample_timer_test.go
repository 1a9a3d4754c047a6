// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSamplePeriod(t *testing.T) {
	for _, tt := range []struct{ ring, interval, want time.Duration }{
		{16 * time.Second, 10 * time.Second, 0},
		{14200 * time.Millisecond, 30 * time.Second, 10 * time.Second},
		{14200 * time.Millisecond, 10 * time.Second, 0},
		{16 * time.Second, 15 * time.Second, 7500 * time.Millisecond}, // a late read would lose some
		{16 * time.Second, time.Minute, 12 * time.Second},
		{0, 30 * time.Second, 0},
		{16 * time.Second, 0, 0},
	} {
		assert.Equal(t, tt.want, samplePeriod(tt.ring, tt.interval), "%v", tt)
	}
}
