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

// A container that has a GPU to itself has the GPU's readings.
func TestExclusive(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), train, 9e9, 0.7)
	m.apply(node)

	require.Empty(t, node.Problems)
	require.Len(t, node.Containers, 1)
	u := use(t, node, train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.Equal(t, resource, u.Resource)
	assert.Equal(t, gpu.AllocatorDevicePlugin, u.Allocator)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
	assert.Equal(t, gpu.Some(0.8), general(u))
	assert.Equal(t, gpu.Some(int64(10e9)), u.MemoryUsage)
	assert.Equal(t, gpu.Some(int64(80e9)), u.MemoryLimit)
	assert.Equal(t, gpu.Some(400.0), u.Power)
	assertTotal(t, 0, u.Energy)
	assertTotal(t, 0, u.IdleTime)

	assert.Equal(t, []gpu.Holder{{Container: train.joined(), Resource: resource}}, node.Devices[0].Holders)
	assert.True(t, node.Devices[0].HoldersKnown)
	assert.Empty(t, node.Devices[1].Holders)
	assert.True(t, node.Devices[1].HoldersKnown, "known to be free")
	assert.Same(t, node.Devices[0].Holders[0].Container, node.Processes[0].Container)
}

// A GPU that is held and unused is idle all the time, and its energy is the holder's.
func TestAllocatedIdle(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	read := func(joules, busy float64) gpu.ContainerUse {
		d := device(0)
		d.Utilization[gpu.TaskGeneral] = gpu.Some(busy)
		d.Energy = gpu.Total(joules)
		return use(t, m.apply(nodeOf(d), 10), train.joined(), uuid(0))
	}
	read(1000, 0)
	u := read(1500, 0)
	assertTotal(t, 10, u.IdleTime)
	assertTotal(t, 500, u.Energy)
	assert.Equal(t, gpu.Some(int64(10e9)), u.MemoryUsage)
	u = read(1700, 0.25)
	assertTotal(t, 17.5, u.IdleTime)
	assertTotal(t, 700, u.Energy)
}

// A container may use a GPU that it does not hold, and hold one that it does not use.
func TestUsedAndNotHeld(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(1))))
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), train, 9e9, 0.7) // on another GPU than it holds
	run(node, 11, uuid(1), infer, 2e9, 0.2) // on a GPU that another one holds
	m.apply(node)

	u := use(t, node, train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(false), u.Allocated)
	assert.Empty(t, u.Resource)
	inDelta(t, 0.7, general(u))
	assert.Equal(t, gpu.Some(int64(9e9)), u.MemoryUsage)
	assert.False(t, u.MemoryLimit.Known())
	assert.False(t, u.IdleTime.Known(), "what is not held is not idle")
	inDelta(t, 0.7*400, u.Power)

	u = use(t, node, train.joined(), uuid(1))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	inDelta(t, 0, general(u))
	assert.Equal(t, gpu.Some(int64(0)), u.MemoryUsage, "the GPU's memory is not its own")
	assert.Equal(t, gpu.Some(int64(80e9)), u.MemoryLimit)
	inDelta(t, (1-0.8)*400, u.Power)

	u = use(t, node, infer.joined(), uuid(1))
	assert.Equal(t, gpu.Some(false), u.Allocated)
	inDelta(t, 0.2*400, u.Power)
	assert.Empty(t, node.Devices[0].Holders)
}

// A process on a device that was not read is on none of those that were.
func TestProcessOnAnotherDevice(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	node := nodeOf(device(0))
	run(node, 10, uuid(7), train, 9e9, 0.7)
	m.apply(node)
	assert.Empty(t, node.Containers)
}

// Several slots of a device count once. Several containers on one device, and one container on several devices, count each.
func TestSlots(t *testing.T) {
	m := newMachine(t, nil, podOf(train, helper), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod,
			kubelettest.Container(train.name, resource, uuid(0)+"::0", uuid(0)+"::3", uuid(1)+"::0"),
			kubelettest.Container(helper.name, resource, uuid(0)+"::1")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::2")),
	)
	node := nodeOf(device(0), device(1))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	run(node, 11, uuid(0), train, 1e9, 0.1)
	run(node, 12, uuid(0), infer, 2e9, 0.2)
	m.apply(node)

	require.Len(t, node.Containers, 4)
	require.Len(t, node.Devices[0].Holders, 3)
	require.Len(t, node.Devices[1].Holders, 1)
	for _, u := range node.Containers {
		assert.Equal(t, gpu.Some(true), u.Allocated)
	}
	a, b := use(t, node, train.joined(), uuid(0)), use(t, node, infer.joined(), uuid(0))
	inDelta(t, 0.4, general(a))
	assert.Equal(t, gpu.Some(int64(5e9)), a.MemoryUsage)
	inDelta(t, 0.2, general(b))
	assert.Equal(t, gpu.Some(int64(2e9)), b.MemoryUsage)
	assert.False(t, a.MemoryLimit.Known(), "the limit is the GPU's, not each sharer's")
	idle := (1 - 0.8) / 3 * 400
	inDelta(t, 0.4*400+idle, a.Power)
	inDelta(t, 0.2*400+idle, b.Power)
	c := use(t, node, helper.joined(), uuid(0))
	inDelta(t, 0, general(c))
	inDelta(t, idle, c.Power)
	assert.Equal(t, gpu.Some(int64(0)), c.MemoryUsage)

	alone := use(t, node, train.joined(), uuid(1))
	assert.Equal(t, gpu.Some(0.8), general(alone), "a replica that is alone has the GPU to itself")
}

// The driver reads processes and devices at different moments.
func TestSumsAreScaledDown(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 9e9, 0.9)
	run(node, 11, uuid(0), infer, 3e9, 0.3)
	m.apply(node)
	a, b := use(t, node, train.joined(), uuid(0)), use(t, node, infer.joined(), uuid(0))
	inDelta(t, 0.8*0.75, general(a))
	inDelta(t, 0.8*0.25, general(b))
	assert.Equal(t, gpu.Some(int64(7.5e9)), a.MemoryUsage)
	assert.Equal(t, gpu.Some(int64(2.5e9)), b.MemoryUsage)
}

// A systemd unit uses a device beside the container that holds it, and never holds one.
func TestUnitBesideHolder(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	node.Processes = append(node.Processes, gpu.Process{
		PID: 1, DeviceID: uuid(0), Created: m.now, Memory: gpu.Some(int64(1e9)), Cgroup: "0::/system.slice/xorg.service\n",
	})
	m.apply(node)
	require.Len(t, node.Containers, 2)
	u := use(t, node, train.joined(), uuid(0))
	inDelta(t, 0.3, general(u))
	assert.Equal(t, gpu.Some(int64(4e9)), u.MemoryUsage)
	inDelta(t, (0.3+0.2)*400, u.Power)
	assert.True(t, u.IdleTime.Known(), "the unit is not taken for the container")

	unit := &gpu.Container{SystemdUnit: "xorg.service"}
	assert.Equal(t, unit, node.Processes[1].Container)
	used := use(t, node, unit, uuid(0))
	assert.Equal(t, gpu.Some(false), used.Allocated)
	assert.Equal(t, gpu.Some(int64(1e9)), used.MemoryUsage)
	assert.False(t, used.IdleTime.Known())
	assert.False(t, used.MemoryLimit.Known())
}

// The use of a process outside of containers, jobs and units is not attributed.
func TestProcessOutside(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	node.Processes = append(node.Processes, gpu.Process{PID: 1, DeviceID: uuid(0), Created: m.now, Memory: gpu.Some(int64(1e9)), Cgroup: "0::/\n"})
	m.apply(node)
	require.Len(t, node.Containers, 1)
	u := node.Containers[0]
	inDelta(t, 0.3, general(u))
	assert.Equal(t, gpu.Some(int64(4e9)), u.MemoryUsage)
	assert.Nil(t, node.Processes[1].Container)
	inDelta(t, (0.3+0.2)*400, u.Power)
}

// Without Kubernetes, the control group shows the unit, the job or the container.
func TestBareMetal(t *testing.T) {
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c) }).start()
	node := nodeOf(device(0))
	id := hash("docker", 64)
	for i, cgroup := range []string{
		"0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", "0::/system.slice/ollama.service\n",
		"0::/system.slice/docker-" + id + ".scope\n", "0::/\n",
	} {
		p := gpu.Process{PID: int64(i), DeviceID: uuid(0), Created: m.now, Cgroup: cgroup, Memory: gpu.Some(int64(1e9))}
		p.Utilization[gpu.TaskGeneral] = gpu.Some(0.1)
		node.Processes = append(node.Processes, p)
	}
	m.apply(node)
	require.Empty(t, node.Problems)
	assert.Equal(t, &gpu.Container{SlurmJob: "42"}, node.Processes[0].Container)
	assert.Equal(t, &gpu.Container{SystemdUnit: "ollama.service"}, node.Processes[1].Container)
	assert.Equal(t, &gpu.Container{ID: id}, node.Processes[2].Container)
	assert.Nil(t, node.Processes[3].Container)

	require.Len(t, node.Containers, 3)
	for _, c := range []*gpu.Container{{ID: id}, {SlurmJob: "42"}, {SystemdUnit: "ollama.service"}} {
		u := use(t, node, c, uuid(0))
		assert.False(t, u.Allocated.Known(), "nobody was asked")
		assert.False(t, u.IdleTime.Known())
		inDelta(t, 0.1, general(u))
		inDelta(t, 40, u.Power)
		assert.Equal(t, gpu.Some(int64(1e9)), u.MemoryUsage)
		assert.True(t, u.Energy.Known())
	}
	assert.False(t, node.Devices[0].HoldersKnown)
}

// An Attributor with nothing to do leaves a node as it is.
func TestNothingConfigured(t *testing.T) {
	m := newMachine(t, func(c *Config) { *c = Config{} }).start()
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 1, 0.1)
	m.apply(node)
	assert.Nil(t, node.Processes[0].Container)
	assert.Empty(t, node.Containers)
	assert.Empty(t, node.Problems)
}

// Without the machine's process table it is unknown whose the processes are.
func TestNoHostPIDs(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0), uuid(1))))
	node := nodeOf(device(0), device(1))
	node.Processes = []gpu.Process{{PID: 10, DeviceID: uuid(0), Memory: gpu.Some(int64(1))}}
	node.Problems = []gpu.Problem{{Kind: gpu.ProblemProcessTable, Err: assert.AnError}}
	m.apply(node)
	u := use(t, node, train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.False(t, general(u).Known())
	assert.False(t, u.MemoryUsage.Known())
	assert.False(t, u.IdleTime.Known())
	assert.False(t, u.Energy.Known())
	assert.Equal(t, gpu.Some(int64(80e9)), u.MemoryLimit)

	u = use(t, node, train.joined(), uuid(1))
	assert.Equal(t, gpu.Some(0.8), general(u), "the driver lists no process there")
}

// Which processes use a device may be unknown.
func TestProcessesUnread(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	for name, change := range map[string]func(*gpu.Node){
		"flag":           func(n *gpu.Node) { n.Devices[0].ProcessesUnread = true },
		"device problem": func(n *gpu.Node) { n.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses, Device: uuid(0)}} },
		"node problem":   func(n *gpu.Node) { n.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses}} },
	} {
		t.Run(name, func(t *testing.T) {
			node := nodeOf(device(0))
			change(node)
			u := use(t, m.apply(node), train.joined(), uuid(0))
			assert.False(t, general(u).Known())
			assert.False(t, u.IdleTime.Known())
		})
	}
	node := nodeOf(device(0))
	node.Problems = []gpu.Problem{{Kind: gpu.ProblemProcesses, Device: uuid(1)}}
	assert.True(t, general(use(t, m.apply(node), train.joined(), uuid(0))).Known(), "another device's problem")
}

// A process that ends between the driver's answer and the read of the process table stays its container's.
func TestProcessGone(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	m.apply(node)

	node = nodeOf(device(0))
	node.Processes = []gpu.Process{
		{PID: 10, DeviceID: uuid(0), Memory: gpu.Some(int64(4e9))},
		{PID: 11, DeviceID: uuid(0), Memory: gpu.Some(int64(1e9))}, // never seen alive
	}
	m.apply(node)
	assert.Equal(t, train.joined(), node.Processes[0].Container)
	assert.Nil(t, node.Processes[1].Container)
	assert.Equal(t, gpu.Some(0.8), general(use(t, node, train.joined(), uuid(0))))

	// The PID is another process's now.
	node = nodeOf(device(0))
	run(node, 10, uuid(0), infer, 4e9, 0.3)
	m.apply(node)
	assert.Equal(t, infer.used(), node.Processes[0].Container)
}

// A control group may not have been read in time.
func TestCgroupUnread(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	node := nodeOf(device(0))
	node.Processes = []gpu.Process{{PID: 10, DeviceID: uuid(0), Created: m.now}}
	u := use(t, m.apply(node), train.joined(), uuid(0))
	assert.False(t, general(u).Known())
}

// The driver names only the processes that use a media engine. An engine that is idle is so for each container.
func TestIdleMediaEngine(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
	d := device(0)
	d.Utilization[gpu.TaskEncoder], d.Utilization[gpu.TaskDecoder] = gpu.Some(0.0), gpu.Some(0.2)
	node := nodeOf(d)
	run(node, 10, uuid(0), train, 4e9, 0.3)
	run(node, 11, uuid(0), infer, 1e9, 0.1)
	u := use(t, m.apply(node), train.joined(), uuid(0))
	assert.Equal(t, gpu.Some(0.0), u.Utilization[gpu.TaskEncoder])
	assert.False(t, u.Utilization[gpu.TaskDecoder].Known(), "somebody uses it")
}

// What one of a container's processes does not report is unknown for the container.
func TestUntoldUse(t *testing.T) {
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 4e9, 0.3)
	run(node, 11, uuid(0), train, 4e9, -1)
	node.Processes[1].Memory = gpu.Opt[int64]{}
	run(node, 12, uuid(0), infer, 1e9, 0.1)
	m.apply(node)
	u := use(t, node, train.joined(), uuid(0))
	assert.False(t, general(u).Known())
	assert.False(t, u.MemoryUsage.Known())
	assert.False(t, u.Power.Known())
	assert.False(t, u.Energy.Known())
	assert.False(t, u.IdleTime.Known())
	u = use(t, node, infer.joined(), uuid(0))
	inDelta(t, 0.1, general(u))
	inDelta(t, (0.1+0.1)*400, u.Power)
}
