// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// slurmd is the container of a node of Slurm that runs in a pod.
var slurmd = testContainer{"slurmd-0", "slurmd"}

// jobCgroup is the control group of a process of a Slurm job that runs in a container.
func (w testContainer) jobCgroup(job string) string {
	return strings.TrimSuffix(w.cgroup(), "\n") + "/system.slice/slurmstepd.scope/job_" + job + "/step_0/user/task_0\n"
}

// job is the job in the container.
func (w testContainer) job(id string) *gpu.Container {
	c := w.joined()
	c.SlurmJob = id
	return c
}

// runIn adds a process of a control group to the node.
func runIn(node *gpu.Node, pid int64, deviceID, cgroup string, bytes int64, sm float64) *gpu.Process {
	run(node, pid, deviceID, train, bytes, sm)
	p := &node.Processes[len(node.Processes)-1]
	p.Cgroup = cgroup
	return p
}

// Two jobs of one slurmd pod are two users. The pod holds the GPU for them, and is not idle while one of them runs.
func TestJobsInPod(t *testing.T) {
	m := newMachine(t, nil, podOf(slurmd)).start()
	m.kubelet.Set(kubelettest.Pod(slurmd.pod, kubelettest.Container(slurmd.name, resource, uuid(0))))
	for range 3 {
		node := nodeOf(device(0))
		runIn(node, 10, uuid(0), slurmd.jobCgroup("12"), 6e9, 0.5)
		runIn(node, 11, uuid(0), slurmd.jobCgroup("13"), 3e9, 0.3)
		m.apply(node, 10)

		require.Len(t, node.Containers, 3)
		first, second := use(t, node, slurmd.job("12"), uuid(0)), use(t, node, slurmd.job("13"), uuid(0))
		inDelta(t, 0.5, general(first))
		inDelta(t, 0.3, general(second))
		assert.Equal(t, gpu.Some(int64(6e9)), first.MemoryUsage)
		inDelta(t, 0.5*400, first.Power)
		assert.False(t, first.Allocated.Known(), "what Slurm allocates is not known")
		assert.False(t, first.IdleTime.Known())

		pod := use(t, node, slurmd.joined(), uuid(0))
		assert.Equal(t, gpu.Some(true), pod.Allocated)
		inDelta(t, 0, general(pod))
		inDelta(t, 0.2*400, pod.Power)
		assert.Equal(t, gpu.Some(int64(0)), pod.MemoryUsage)
		if busy, _ := pod.BusyTime.Get(); busy > 0 {
			idle, _ := pod.IdleTime.Get()
			assert.InDelta(t, 4, busy/idle, 1e-6, "0.8 of the time its jobs ran")
		}
	}
}

// A pod whose jobs have ended is idle.
func TestPodWithoutJobsIsIdle(t *testing.T) {
	m := newMachine(t, nil, podOf(slurmd)).start()
	m.kubelet.Set(kubelettest.Pod(slurmd.pod, kubelettest.Container(slurmd.name, resource, uuid(0))))
	d := device(0)
	d.Utilization[gpu.TaskGeneral] = gpu.Some(0.0)
	m.apply(nodeOf(d), 10)
	node := m.apply(nodeOf(d), 10)
	assertTotal(t, 10, use(t, node, slurmd.joined(), uuid(0)).IdleTime)
}

// Without the API and log files it is not known in which pod a job runs, so a pod that may be that one is not known to be idle.
func TestJobInUnknownPod(t *testing.T) {
	m := newMachine(t, func(c *Config) { noAPI(c); c.Processes.LogPath = "/nonexistent" }).start()
	m.kubelet.Set(kubelettest.Pod(slurmd.pod, kubelettest.Container(slurmd.name, resource, uuid(0))))
	node := nodeOf(device(0))
	runIn(node, 10, uuid(0), slurmd.jobCgroup("12"), 6e9, 0.5)
	m.apply(node, 10)
	pod := use(t, node, slurmd.named(), uuid(0))
	assert.Equal(t, gpu.Some(true), pod.Allocated)
	assert.False(t, general(pod).Known())
	assert.False(t, pod.IdleTime.Known())
	job := slurmd.used()
	job.SlurmJob = "12"
	inDelta(t, 0.5, general(use(t, node, job, uuid(0))))
}

// A job, a unit and a guest on a GPU that a pod holds are not taken for the pod's container, which has no process there.
func TestNoUserIsTakenForTheHolder(t *testing.T) {
	for name, tt := range map[string]struct {
		cgroup string
		want   *gpu.Container
		holds  gpu.Opt[bool]
	}{
		"unit":        {"0::/system.slice/miner.service\n", &gpu.Container{SystemdUnit: "miner.service"}, gpu.Some(false)},
		"Slurm job":   {"0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", &gpu.Container{SlurmJob: "7"}, gpu.Opt[bool]{}},
		"Slurm SLUID": {"0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0\n", &gpu.Container{SlurmSLUID: "sEKNKTV3WPV500"}, gpu.Opt[bool]{}},
		"PBS job":     {"0::/pbs_jobs.service/jobs/7.pbs\n", &gpu.Container{BatchSystem: "pbs", BatchJob: "7.pbs"}, gpu.Opt[bool]{}},
		"guest":       {"0::/lxc.payload.web/system.slice/ollama.service\n", &gpu.Container{RuntimeName: "web"}, gpu.Opt[bool]{}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, func(c *Config) { noAPI(c); c.Processes.LogPath = "/nonexistent" }).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
			node := nodeOf(device(0))
			runIn(node, 10, uuid(0), tt.cgroup, 4e9, 0.3)
			m.apply(node, 10)
			holder := use(t, node, train.named(), uuid(0))
			inDelta(t, 0, general(holder))
			assert.True(t, holder.IdleTime.Known())
			user := use(t, node, tt.want, uuid(0))
			inDelta(t, 0.3, general(user))
			assert.Equal(t, tt.holds, user.Allocated)
		})
	}
}

// Two guests with a unit of one name are two users.
func TestGuests(t *testing.T) {
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c) }).start()
	node := nodeOf(device(0))
	runIn(node, 10, uuid(0), "0::/lxc/100/ns/system.slice/ollama.service\n", 4e9, 0.3)
	runIn(node, 11, uuid(0), "0::/lxc/101/ns/system.slice/ollama.service\n", 2e9, 0.2)
	m.apply(node)
	inDelta(t, 0.3, general(use(t, node, &gpu.Container{RuntimeName: "100"}, uuid(0))))
	inDelta(t, 0.2, general(use(t, node, &gpu.Container{RuntimeName: "101"}, uuid(0))))
}

// The user of a job is the user of its processes, except for root, which runs Slurm's own processes in the job. It stays as first seen.
func TestUserOfJob(t *testing.T) {
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c) }).start()
	read := func(owners ...string) *gpu.Container {
		node := nodeOf(device(0))
		for i, owner := range owners {
			p := runIn(node, int64(i), uuid(0), "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", 1, 0.1)
			p.Owner, p.UserID = owner, gpu.Some(int64(1000+i))
			if owner == "root" {
				p.UserID = gpu.Some(int64(0))
			}
		}
		m.apply(node, 10)
		require.Len(t, node.Containers, 1)
		return node.Containers[0].Container
	}
	assert.Equal(t, &gpu.Container{SlurmJob: "7"}, read("root"))
	assert.Equal(t, &gpu.Container{SlurmJob: "7", SlurmUser: "ada"}, read("root", "ada"))
	assert.Equal(t, &gpu.Container{SlurmJob: "7", SlurmUser: "ada"}, read("bob", "ada"))
	assert.Equal(t, &gpu.Container{SlurmJob: "7", SlurmUser: "ada"}, read("root"))
}

// A process that has ended since the driver listed it is still its job's.
func TestProcessOfJobEnds(t *testing.T) {
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c) }).start()
	node := nodeOf(device(0))
	runIn(node, 10, uuid(0), "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", 4e9, 0.3)
	m.apply(node, 10)
	node = nodeOf(device(0))
	p := runIn(node, 10, uuid(0), "", 4e9, 0.3)
	p.Created = time.Time{}
	m.apply(node, 10)
	inDelta(t, 0.3, general(use(t, node, &gpu.Container{SlurmJob: "7"}, uuid(0))))
}
