// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A container that has a part of a GPU has its share; a container that has the whole GPU has no share.
func TestShareOfContainer(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 0)
	m.Containers[0].Sharing, m.Containers[0].Share = gpu.SharingFraction, gpu.Some(0.25)
	f.ConsumeMetrics(m.read(w.now))
	node := onlyNode(t, f)
	require.Len(t, node.GPUs, 2)
	part, whole := node.GPUs[0].Containers[0], node.GPUs[1].Containers[0]
	assert.Equal(t, "fraction", *part.Sharing)
	require.NotNil(t, part.Share)
	assert.InDelta(t, 0.25, *part.Share, 0)
	assert.Nil(t, whole.Share)
}

// All readings of a job, a unit or a container belong to it, whatever identifies it.
func TestReadingsOfJobsAndUnits(t *testing.T) {
	for name, container := range map[string]gpu.Container{
		"Slurm job":        {SlurmJob: "4711", SlurmUser: "alice"},
		"job in a pod":     {SlurmJob: "4711", Namespace: "team", PodName: "train-0", Name: "main", ID: "c0ffee"},
		"job of 26.05":     {SlurmSLUID: "s3K8"},
		"other batch":      {BatchSystem: "lsf", BatchJob: "12"},
		"systemd unit":     {SystemdUnit: "ollama.service"},
		"container of LXC": {RuntimeName: "guest"},
	} {
		t.Run(name, func(t *testing.T) {
			f, w := newTestFleet(Settings{})
			m := newMachine("a", 1, 0)
			m.Containers[0].Container, m.Devices[0].Holders[0].Container = &container, &container
			f.ConsumeMetrics(m.read(w.now))
			gpus := onlyNode(t, f).GPUs
			require.Len(t, gpus, 1)
			require.Len(t, gpus[0].Containers, 1)
			use := gpus[0].Containers[0]
			require.NotNil(t, use.Allocated)
			assert.True(t, *use.Allocated)
			for value, reading := range map[string]*float64{
				"utilization": use.Utilization, "memory": use.Memory, "memory limit": use.MemoryLimit, "power": use.Power, "energy": use.Energy, "idle time": use.IdleTime,
			} {
				assert.NotNil(t, reading, value)
			}
		})
	}
}
