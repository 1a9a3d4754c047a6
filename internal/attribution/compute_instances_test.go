// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Compute instances share the memory of their GPU instance. Its usage is not the usage of each holder.
func TestComputeInstances(t *testing.T) {
	first, second, other := mig(0, 1), mig(0, 1), mig(0, 2)
	second.ID, second.Name, second.ComputeInstance = migUUID(99), "nvidia0/gi1/ci1", gpu.Some(1)
	for _, d := range []*gpu.Device{&first, &second, &other} {
		d.Memory = gpu.Memory{Limit: gpu.Some(int64(40e9)), Usage: gpu.Some(int64(10e9))}
	}
	m := newMachine(t, nil, podOf(train, helper), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, first.ID), kubelettest.Container(helper.name, resource, second.ID)),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, other.ID)),
	)
	node := nodeOf(device(0), first, second, other)
	run(node, 10, first.ID, train, 6e9, -1)
	run(node, 11, second.ID, helper, 3e9, -1)
	run(node, 12, other.ID, infer, 9e9, -1)
	m.apply(node)
	require.Empty(t, node.Problems)

	none := gpu.Opt[int64]{}
	for _, tt := range []struct {
		holder       testContainer
		device       string
		usage, limit gpu.Opt[int64]
	}{
		{train, first.ID, gpu.Some(int64(6e9)), none},
		{helper, second.ID, gpu.Some(int64(3e9)), none},
		{infer, other.ID, gpu.Some(int64(10e9)), gpu.Some(int64(40e9))},
	} {
		u := use(t, node, tt.holder.joined(), tt.device)
		assert.Equal(t, [2]gpu.Opt[int64]{tt.usage, tt.limit}, [2]gpu.Opt[int64]{u.MemoryUsage, u.MemoryLimit}, tt.holder.name)
	}
}
