// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestSourceChanges(t *testing.T) {
	p := New(Options{Source: "nvidia_smi", Logger: zap.NewNop(), Events: true, MaxProcesses: 10})
	events := func() (all []string) {
		for _, e := range p.TakeEvents() {
			all = append(all, e.Message)
		}
		return all
	}
	good := func() { p.Take(t.Context(), nodeOf(healthy("GPU-1"))) }
	bad := func(err error) *gpu.Node { return p.Failed(gpu.Host{Name: "a"}, gpu.NVIDIA, time.Unix(1, 0), err) }

	good()
	assert.Empty(t, events(), "a source that is readable from the start makes no event")
	node := bad(fs.ErrPermission)
	assert.Equal(t, gpu.FailurePermission, node.Failure.Reason)
	assert.Equal(t, gpu.Host{Name: "a"}, node.Host)
	assert.Empty(t, node.Devices, "a failed read says nothing of the GPUs")
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, node.Presence)
	assert.Equal(t, []string{"nvidia_smi cannot be read: permission denied"}, events())
	bad(fs.ErrPermission)
	assert.Empty(t, events(), "for the same reason")
	bad(context.DeadlineExceeded)
	assert.Equal(t, []string{"nvidia_smi cannot be read: context deadline exceeded"}, events(), "for another one")
	good()
	assert.Equal(t, []string{"nvidia_smi is readable again"}, events(), "and no GPU has changed its state")
}
