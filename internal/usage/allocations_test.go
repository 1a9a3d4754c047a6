// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func allocationTracker() *Tracker { return New(Options{Interval: interval, Allocations: true}) }

// trainer is a container of a pod, in one of its instances.
func trainer(uid, instance string) *gpu.Container {
	return &gpu.Container{Namespace: "team", PodName: "train-0", PodUID: uid, Name: "main", ID: instance}
}

// holding adds a container that holds a device to a node, with counters that have run since a time.
func holding(node *gpu.Node, device string, c *gpu.Container, since time.Time, joules, idle, busy float64) *gpu.Node {
	for i := range node.Devices {
		if d := &node.Devices[i]; d.ID == device {
			d.Holders = append(d.Holders, gpu.Holder{Container: c})
		}
	}
	node.Containers = append(node.Containers, gpu.ContainerUse{
		Container: c, DeviceID: device, Allocated: gpu.Some(true), Resource: "nvidia.com/gpu", MemoryUsage: gpu.Some(int64(100)),
		Energy: gpu.TotalSince(joules, since), IdleTime: gpu.TotalSince(idle, since), BusyTime: gpu.TotalSince(busy, since),
	})
	return node
}

func kinds(events []gpu.Event) []gpu.EventType {
	var all []gpu.EventType
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

func TestAllocation(t *testing.T) {
	c := allocationTracker()
	require.Empty(t, c.Next(nodeOf(0, "GPU-1")))
	events := c.Next(holding(nodeOf(10, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.EventAllocated, events[0].Type)
	assert.Equal(t, timeAt(10), events[0].Time)
	assert.Equal(t, "GPU-1", events[0].DeviceID)
	assert.Equal(t, &gpu.Use{Start: timeAt(10), StartKnown: true}, events[0].Use)
	assert.Equal(t, &gpu.Holder{Container: trainer("u", "a"), Resource: "nvidia.com/gpu"}, events[0].Holder)
	require.Empty(t, c.Next(holding(nodeOf(20, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 1000, 4, 6)))
	events = c.Next(nodeOf(30, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.EventReleased, events[0].Type)
	assert.Equal(t, &gpu.Use{
		Start: timeAt(10), StartKnown: true, End: timeAt(30), EndKnown: true, GPUTime: gpu.Some(20.0), BusyTime: gpu.Some(6.0), IdleTime: gpu.Some(4.0),
		Energy: gpu.Some(1000.0), MemoryPeak: gpu.Some(int64(100)), MemoryMean: gpu.Some(int64(100)),
	}, events[0].Use)
	assert.Empty(t, c.Next(nodeOf(40, "GPU-1")), "once")
}

// What was there at the first read is reported, without a known beginning and without what the counters had before.
func TestAllocationBeforeTheFirstRead(t *testing.T) {
	c := allocationTracker()
	events := c.Next(holding(nodeOf(0, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(-100), 70, 7, 8))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{Start: timeAt(0)}, events[0].Use)
	events = c.Next(nodeOf(10, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{
		Start: timeAt(0), End: timeAt(10), EndKnown: true, GPUTime: gpu.Some(10.0), MemoryPeak: gpu.Some(int64(100)), MemoryMean: gpu.Some(int64(100)),
	}, events[0].Use, "no counter was seen to increase")
}

// While the holders of a device are unknown, no allocation is released. One that ended meanwhile has as its end the time at which it was
// last seen.
func TestUnknownHolders(t *testing.T) {
	unknown := func(seconds int) *gpu.Node {
		node := nodeOf(seconds, "GPU-1", "GPU-2")
		for i := range node.Devices {
			node.Devices[i].HoldersComplete = false
		}
		return node
	}
	for name, nodes := range map[string]func(int) *gpu.Node{
		"the kubelet does not answer": unknown,
		"the source cannot be read": func(seconds int) *gpu.Node {
			return &gpu.Node{Time: timeAt(seconds), Failure: &gpu.Failure{}}
		},
		"no device is known": func(seconds int) *gpu.Node { return nodeOf(seconds) },
		"others are known to hold it": func(seconds int) *gpu.Node {
			return holding(unknown(seconds), "GPU-1", &gpu.Container{Namespace: "n", PodName: "known", Name: "c"}, timeAt(seconds), 0, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := allocationTracker()
			c.Next(nodeOf(0, "GPU-1", "GPU-2"))
			c.Next(holding(nodeOf(10, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
			for seconds := 20; seconds <= 60; seconds += 10 {
				assert.NotContains(t, kinds(c.Next(nodes(seconds))), gpu.EventReleased)
			}
			events := c.Next(nodeOf(70, "GPU-1", "GPU-2"))
			require.NotEmpty(t, events)
			released := events[len(events)-1]
			assert.Equal(t, gpu.EventReleased, released.Type)
			assert.Equal(t, timeAt(70), released.Time)
			assert.Equal(t, &gpu.Use{
				Start: timeAt(10), StartKnown: true, End: timeAt(10), GPUTime: gpu.Some(0.0), MemoryPeak: gpu.Some(int64(100)), MemoryMean: gpu.Some(int64(100)),
			}, released.Use)
		})
	}
}

// A device that is no longer in the node has no holder: a MIG instance that was destroyed.
func TestAllocatedDeviceGoes(t *testing.T) {
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	node := nodeOf(10, "GPU-1", "MIG-1")
	node.Devices[1].Parent, node.Devices[1].Info.Profile = "GPU-1", "1g.10gb"
	events := c.Next(holding(node, "MIG-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	require.Len(t, events, 1)
	assert.Equal(t, []string{"MIG-1", "GPU-1", "1g.10gb"}, []string{events[0].DeviceID, events[0].Parent, events[0].Profile})
	assert.True(t, events[0].Use.StartKnown, "the instance is new")
	events = c.Next(nodeOf(20, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.EventReleased, events[0].Type)
	assert.Equal(t, "1g.10gb", events[0].Profile)
}

// A container that is restarted keeps its devices: its counters start again, and the record has the sum.
func TestContainerIsRestarted(t *testing.T) {
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	c.Next(holding(nodeOf(10, "GPU-1"), "GPU-1", trainer("", ""), timeAt(10), 0, 0, 0))
	require.Empty(t, c.Next(holding(nodeOf(20, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(20), 0, 0, 0)), "the API has the UID a little late")
	require.Empty(t, c.Next(holding(nodeOf(30, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(20), 500, 1, 9)))
	require.Empty(t, c.Next(holding(nodeOf(40, "GPU-1"), "GPU-1", trainer("u", "b"), timeAt(40), 0, 0, 0)))
	require.Empty(t, c.Next(holding(nodeOf(50, "GPU-1"), "GPU-1", trainer("u", ""), timeAt(40), 300, 2, 8)))
	events := c.Next(nodeOf(60, "GPU-1"))
	require.Len(t, events, 1)
	u := events[0].Use
	assert.Equal(t, []gpu.Opt[float64]{gpu.Some(800.0), gpu.Some(3.0), gpu.Some(17.0), gpu.Some(50.0)}, []gpu.Opt[float64]{u.Energy, u.IdleTime, u.BusyTime, u.GPUTime})
	assert.Equal(t, trainer("u", "b"), events[0].Holder.Container, "as last known")
}

// A container that was restarted while the kubelet did not answer has counters with a value when it is seen again.
func TestContainerIsRestartedUnseen(t *testing.T) {
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	c.Next(holding(nodeOf(10, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	for _, seconds := range []int{20, 30} {
		away := nodeOf(seconds, "GPU-1")
		away.Devices[0].HoldersComplete = false
		require.Empty(t, c.Next(away))
	}
	require.Empty(t, c.Next(holding(nodeOf(40, "GPU-1"), "GPU-1", trainer("u", "b"), timeAt(20), 70, 15, 5)))
	events := c.Next(nodeOf(50, "GPU-1"))
	require.Len(t, events, 1)
	u := events[0].Use
	assert.Equal(t, []gpu.Opt[float64]{gpu.Some(70.0), gpu.Some(15.0), gpu.Some(5.0)}, []gpu.Opt[float64]{u.Energy, u.IdleTime, u.BusyTime})
}

// What a read does not say of a container stays as an earlier one had it.
func TestContainerKeepsItsOwners(t *testing.T) {
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	owned := trainer("u", "a")
	owned.Owners, owned.Labels = []gpu.Owner{{Kind: "Job", Name: "train"}}, map[string]string{"k8s.pod.label.team": "vision"}
	c.Next(holding(nodeOf(10, "GPU-1"), "GPU-1", owned, timeAt(10), 0, 0, 0))
	c.Next(holding(nodeOf(20, "GPU-1"), "GPU-1", trainer("", ""), timeAt(10), 0, 0, 0))
	events := c.Next(nodeOf(30, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, owned, events[0].Holder.Container)
}

func TestAllocationsAreBounded(t *testing.T) {
	c := allocationTracker()
	node := nodeOf(0, "GPU-1")
	for i := range maxAllocations + 10 {
		holding(node, "GPU-1", &gpu.Container{Namespace: "n", PodName: "p", Name: strconv.Itoa(i)}, timeAt(0), 0, 0, 0)
	}
	assert.Len(t, c.Next(node), maxAllocations)
	assert.Len(t, c.State().Allocations, maxAllocations)
}

// A pod with the same name and another UID is another holder.
func TestAnotherPodOfTheSameName(t *testing.T) {
	c := allocationTracker()
	c.Next(holding(nodeOf(0, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(0), 0, 0, 0))
	events := c.Next(holding(nodeOf(10, "GPU-1"), "GPU-1", trainer("v", "b"), timeAt(10), 0, 0, 0))
	require.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventAllocated}, kinds(events))
	assert.Equal(t, "u", events[0].Holder.Container.PodUID)
	assert.Equal(t, "v", events[1].Holder.Container.PodUID)
	assert.True(t, events[1].Use.StartKnown)
}

// The GPU-seconds of a shared device are divided among its holders.
func TestSharedDevice(t *testing.T) {
	other := &gpu.Container{Namespace: "team", PodName: "notebook", Name: "main"}
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	both := func(seconds int) *gpu.Node {
		return holding(holding(nodeOf(seconds, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0), "GPU-1", other, timeAt(10), 0, 0, 0)
	}
	c.Next(both(10))
	c.Next(both(20))
	events := c.Next(holding(nodeOf(30, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(10.0), events[0].Use.GPUTime, "20 s of a half")
	events = c.Next(nodeOf(40, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(25.0), events[0].Use.GPUTime, "10 s of a half, and 20 s")
}

// A tracker that goes on with the state of another one reports what has changed since, and nothing twice.
func TestAllocationsAreRestored(t *testing.T) {
	started := func() *Tracker {
		c := allocationTracker()
		c.Next(nodeOf(0, "GPU-1", "GPU-2"))
		c.Next(holding(nodeOf(10, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
		c.Next(holding(nodeOf(20, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(10), 100, 5, 5))
		next := allocationTracker()
		next.Restore(stored(t, c.State()))
		return next
	}
	c := started()
	require.Empty(t, c.Next(holding(nodeOf(40, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(40), 0, 0, 0)), "it was known")
	require.Empty(t, c.Next(holding(nodeOf(50, "GPU-1", "GPU-2"), "GPU-1", trainer("u", "a"), timeAt(40), 50, 5, 5)))
	events := c.Next(nodeOf(60, "GPU-1", "GPU-2"))
	require.Len(t, events, 1)
	assert.Equal(t, &gpu.Use{
		Start: timeAt(10), StartKnown: true, End: timeAt(60), EndKnown: true, GPUTime: gpu.Some(50.0), BusyTime: gpu.Some(10.0), IdleTime: gpu.Some(10.0),
		Energy: gpu.Some(150.0), MemoryPeak: gpu.Some(int64(100)), MemoryMean: gpu.Some(int64(100)),
	}, events[0].Use)

	// An hour later: allocations that ended and started meanwhile did so at an unknown time.
	events = started().Next(holding(nodeOf(3600, "GPU-1", "GPU-2"), "GPU-2", trainer("u", "a"), timeAt(3600), 0, 0, 0))
	require.Equal(t, []gpu.EventType{gpu.EventReleased, gpu.EventAllocated}, kinds(events))
	assert.Equal(t, timeAt(20), events[0].Use.End)
	assert.False(t, events[0].Use.EndKnown)
	assert.Equal(t, &gpu.Use{Start: timeAt(3600)}, events[1].Use)
}

// After the clock was set back no use ends before it starts.
func TestClockSetBack(t *testing.T) {
	c := allocationTracker()
	c.Next(holding(nodeOf(1000, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(1000), 0, 0, 0))
	c.Next(holding(nodeOf(0, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(0), 0, 0, 0))
	events := c.Next(nodeOf(10, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, timeAt(10), events[0].Use.Start)
	assert.False(t, events[0].Use.StartKnown)
	assert.Equal(t, timeAt(10), events[0].Use.End)
	assert.Equal(t, gpu.Some(10.0), events[0].Use.GPUTime)
}

// A clock that is set forward, or a gap in which nothing was read, adds no GPU-seconds.
func TestClockSetForward(t *testing.T) {
	const step = 60 * 24 * 3600
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	for _, seconds := range []int{10, 20, 30, step + 40, step + 50} {
		c.Next(holding(nodeOf(seconds, "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0))
	}
	events := c.Next(nodeOf(step+60, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(40.0), events[0].Use.GPUTime)
}

// A read without the energy loses no energy: the next read includes it.
func TestEnergyIsNotReadOnce(t *testing.T) {
	c := allocationTracker()
	c.Next(nodeOf(0, "GPU-1"))
	for i, joules := range []gpu.Opt[float64]{gpu.Some(0.0), gpu.Some(1000.0), {}, gpu.Some(3000.0)} {
		node := holding(nodeOf(10*(i+1), "GPU-1"), "GPU-1", trainer("u", "a"), timeAt(10), 0, 0, 0)
		node.Containers[0].Energy = gpu.Counter[float64]{}
		if v, ok := joules.Get(); ok {
			node.Containers[0].Energy = gpu.TotalSince(v, timeAt(10))
		}
		c.Next(node)
	}
	events := c.Next(nodeOf(50, "GPU-1"))
	require.Len(t, events, 1)
	assert.Equal(t, gpu.Some(3000.0), events[0].Use.Energy)
}
