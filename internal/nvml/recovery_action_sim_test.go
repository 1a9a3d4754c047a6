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

// An action of the driver that this version does not know is a problem. No action is invented.
func TestUnknownRecoveryAction(t *testing.T) {
	b := start(t, "gpus = 2\n[gpu 1]\nrecovery_action = 77")
	n := b.read()
	healthy(t, n, 2)
	assert.False(t, gpuAt(t, n, 1).RecoveryAction.Known())
	require.Len(t, n.Problems, 1)
	p := problem(t, n, "recovery action")
	assert.Equal(t, gpuAt(t, n, 1).ID, p.Device)
	require.ErrorContains(t, p.Err, "action 77")
	n = b.read()
	require.Len(t, n.Problems, 1)
	require.Same(t, p.Err, n.Problems[0].Err, "the problem stays as it was")

	b.set("[gpu 1]\nrecovery_action = 78")
	require.ErrorContains(t, problem(t, b.read(), "recovery action").Err, "action 78")
	b.set("[gpu 1]\nrecovery_action = 0")
	n = b.read()
	assert.Empty(t, n.Problems)
	assert.Equal(t, gpu.Some(gpu.RecoveryNone), gpuAt(t, n, 1).RecoveryAction)
}

// The problem stays when MIG is switched on and everything is read again.
func TestUnknownRecoveryActionOutlivesAChange(t *testing.T) {
	b := start(t, "gpus = 1\n[gpu 0]\nrecovery_action = 77")
	require.Len(t, b.read().Problems, 1)
	b.set("[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 2\nci = 0")
	for range 2 {
		require.Len(t, b.read().Problems, 1)
	}
}
