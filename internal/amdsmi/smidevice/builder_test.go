// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A tool that finds nothing is started less often.
func TestStartsThatFindNothing(t *testing.T) {
	t.Parallel()
	b := NewBuilder(command.AMDSMI)
	now := smitest.Start
	require.Nil(t, b.Begin(now))
	_, err := b.NoDevices(smitext.NoDevice())
	require.NoError(t, err)
	require.Nil(t, b.Begin(now), "the next read starts the tool again")
	_, err = b.NoDevices(smitext.ErrAccess)
	require.NoError(t, err)
	node := b.Begin(now.Add(smitest.Seconds(59)))
	require.NotNil(t, node)
	assert.Equal(t, gpu.FailurePermission, node.Failure.Reason)
	require.EqualError(t, node.Problems[0].Err, "amd_smi: not permitted")
	assert.Nil(t, b.Begin(now.Add(smitest.Seconds(60))))
}
