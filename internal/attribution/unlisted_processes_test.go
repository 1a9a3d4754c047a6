// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// In a PID namespace of its own the collector sees no process, whatever runs. Containers that share a GPU are not idle because of that.
func TestNoProcessIsListed(t *testing.T) {
	instance := mig(2, 1)
	read := func(t *testing.T, problem gpu.ProblemKind) *gpu.Node {
		t.Helper()
		m := newMachine(t, nil, podOf(train), podOf(infer)).start()
		m.kubelet.Set(
			kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0", uuid(1), instance.ID)),
			kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
		node := nodeOf(device(0), device(1), device(2), instance)
		node.Problems = []gpu.Problem{{Kind: problem, Err: assert.AnError}}
		return m.apply(node)
	}
	t.Run("shared", func(t *testing.T) {
		node := read(t, gpu.ProblemProcessTable)
		for _, c := range []testContainer{train, infer} {
			u := use(t, node, c.joined(), uuid(0))
			assert.Equal(t, gpu.Some(true), u.Allocated)
			assert.False(t, general(u).Known())
			assert.False(t, u.MemoryUsage.Known())
			assert.False(t, u.Power.Known())
			assert.False(t, u.Energy.Known())
			assert.False(t, u.IdleTime.Known())
		}
	})
	t.Run("alone", func(t *testing.T) {
		u := use(t, read(t, gpu.ProblemProcessTable), train.joined(), uuid(1))
		assert.Equal(t, gpu.Some(0.8), general(u), "the GPU's reading")
		assert.Equal(t, gpu.Some(int64(10e9)), u.MemoryUsage)
		assert.True(t, u.IdleTime.Known())
	})
	t.Run("an instance without utilization", func(t *testing.T) {
		u := use(t, read(t, gpu.ProblemProcessTable), train.joined(), instance.ID)
		assert.Equal(t, gpu.Some(int64(4e9)), u.MemoryUsage)
		assert.False(t, u.IdleTime.Known())
	})
	t.Run("none there", func(t *testing.T) {
		node := read(t, gpu.ProblemQuantity)
		inDelta(t, 0, general(use(t, node, infer.joined(), uuid(0))))
		assert.True(t, use(t, node, train.joined(), instance.ID).IdleTime.Known())
	})
}
