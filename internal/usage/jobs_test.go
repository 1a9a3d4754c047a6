// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// holdingJob adds a job that Slurm has given a device.
func holdingJob(node *gpu.Node, device string, job *gpu.Container) *gpu.Node {
	holding(node, device, job, timeAt(0), 0, 0, 0)
	node.Containers[len(node.Containers)-1].Allocator = gpu.AllocatorSlurm
	return node
}

// A job is one holder, whether or not it is known in which pod it runs. The pod that holds the device for it is another.
func TestAllocationOfJob(t *testing.T) {
	c := allocationTracker()
	require.Empty(t, c.Next(nodeOf(0, "GPU-1")))
	inPod := trainer("u", "a")
	inPod.SlurmJob = "12"
	events := c.Next(holdingJob(holding(nodeOf(10, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0), "GPU-1", &gpu.Container{SlurmJob: "12"}))
	require.Equal(t, []gpu.EventType{gpu.EventAllocated, gpu.EventAllocated}, kinds(events))
	require.Empty(t, c.Next(holdingJob(holding(nodeOf(20, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0), "GPU-1", inPod)))
	events = c.Next(holding(nodeOf(30, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	require.Equal(t, []gpu.EventType{gpu.EventReleased}, kinds(events))
	assert.Equal(t, inPod, events[0].Holder.Container)
	assert.Equal(t, gpu.AllocatorSlurm, events[0].Holder.Allocator)
	assert.Equal(t, gpu.Some(20.0), events[0].Use.GPUTime, "the pod takes none of it")
	events = c.Next(nodeOf(40, "GPU-1"))
	require.Equal(t, []gpu.EventType{gpu.EventReleased}, kinds(events))
	assert.Equal(t, gpu.Some(30.0), events[0].Use.GPUTime)
}

// The records of jobs agree with the metrics: each job that is newly allocated a device has a record, and so has each job that is not
// allocated it any more.
func TestRecordsOfJobsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := allocationTracker()
	devices := []string{"GPU-1", "GPU-2"}
	require.Empty(t, c.Next(nodeOf(0, devices...)))
	type allocation struct{ device, job string }
	allocations := map[allocation]bool{}
	for n := 1; n < 300; n++ {
		node := nodeOf(10*n, devices...)
		now := map[allocation]bool{}
		for _, device := range devices {
			for job := range 3 {
				if r.IntN(2) == 0 {
					a := allocation{device, strconv.Itoa(job)}
					now[a] = true
					holdingJob(node, a.device, &gpu.Container{SlurmJob: a.job})
				}
			}
		}
		for _, e := range c.Next(node) {
			a := allocation{e.DeviceID, e.Holder.Container.SlurmJob}
			allocated := e.Type == gpu.EventAllocated
			require.Equal(t, allocated, now[a], "%v", a)
			require.Equal(t, allocated, !allocations[a], "%v", a)
			allocations[a] = allocated
		}
		for a, is := range allocations {
			require.Equal(t, is, now[a], "%v has no record", a)
		}
		for a := range now {
			require.True(t, allocations[a], "%v has no record", a)
		}
	}
}
