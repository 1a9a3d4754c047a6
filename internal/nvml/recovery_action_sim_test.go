// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// An action of the driver that this version does not know is passed on by its number.
func TestUnknownRecoveryAction(t *testing.T) {
	b := start(t, "gpus = 2\n[gpu 1]\nrecovery_action = 77")
	for _, number := range []string{"77", "78"} {
		b.set("[gpu 1]\nrecovery_action = " + number)
		n := b.read()
		assert.Empty(t, n.Problems)
		d := gpuAt(t, n, 1)
		assert.Equal(t, gpu.Some(gpu.RecoveryOther), d.RecoveryAction)
		assert.Equal(t, number, d.RecoveryWord)
		assert.Equal(t, gpu.StateDegraded, d.State())
		require.Len(t, d.Faults, 1)
		assert.Contains(t, d.Faults[0].Message, number)
		assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
	}
	b.set("[gpu 1]\nrecovery_action = 0")
	n := b.read()
	healthy(t, n, 2)
	assert.Equal(t, gpu.Some(gpu.RecoveryNone), gpuAt(t, n, 1).RecoveryAction)
	assert.Empty(t, gpuAt(t, n, 1).RecoveryWord)
}
