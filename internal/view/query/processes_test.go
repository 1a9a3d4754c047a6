// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestProcesses(t *testing.T) {
	s := viewtest.Snapshot()
	s.Nodes[4].GPUs[2].Processes = []*view.Process{{PID: 1, GPU: "MIG-n2-1"}}
	pids := func(gpu *view.GPU, users UserFilter) []int {
		var all []int
		for _, p := range Processes(s.Nodes, gpu, users) {
			all = append(all, p.PID)
		}
		return all
	}
	assert.Equal(t, []int{4242, 666, 1}, pids(nil, UserFilter{}))
	assert.Equal(t, []int{4242, 666}, pids(nil, UserFilter{Namespace: "ml"}))
	assert.Equal(t, []int{4242}, pids(nil, UserFilter{Namespace: "ml", Pod: "train-0"}))
	assert.Equal(t, []int{1}, pids(s.Nodes[4].GPUs[0], UserFilter{}), "of a GPU's partitions")
	assert.Equal(t, []int{1}, pids(s.Nodes[4].GPUs[2], UserFilter{}))
	assert.Nil(t, pids(s.Nodes[4].GPUs[1], UserFilter{}))
}
