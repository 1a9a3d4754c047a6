// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/attribution/slurm"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// slurmNode returns a machine without Kubernetes that looks for Slurm's jobs, and its mapping directory.
func slurmNode(t *testing.T) (*machine, string) {
	t.Helper()
	dir := t.TempDir()
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c); c.Slurm = &SlurmConfig{MappingDir: dir} })
	return m.start(), dir
}

// slurmCgroup is the control group of a process of a job.
func slurmCgroup(job string) string {
	return "0::/system.slice/slurmstepd.scope/job_" + job + "/step_0/user/task_0\n"
}

// A job that has a GPU alone has its readings, and is idle while it runs nothing.
func TestJobHoldsDevice(t *testing.T) {
	m, dir := slurmNode(t)
	m.file(dir, "1", "12\n")
	m.file(dir, "job.12", "user=ada\naccount=physics\npartition=gpu\n")
	job := &gpu.Container{SlurmJob: "12", SlurmUser: "ada", SlurmAccount: "physics", SlurmPartition: "gpu"}
	idle := func() *gpu.Node {
		d := device(1)
		d.Utilization[gpu.TaskGeneral] = gpu.Some(0.0)
		return m.apply(nodeOf(device(0), d), 10)
	}
	idle()
	node := idle()
	require.Empty(t, node.Problems)
	u := use(t, node, job, uuid(1))
	assert.Equal(t, gpu.Some(true), u.Allocated)
	assert.Equal(t, gpu.AllocatorSlurm, u.Allocator)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
	assert.Empty(t, u.Resource)
	assertTotal(t, 10, u.IdleTime)
	assert.Equal(t, gpu.Some(int64(80e9)), u.MemoryLimit)
	assert.True(t, node.Devices[0].HoldersComplete, "nobody holds the other")
	assert.Empty(t, node.Devices[0].Holders)

	node = nodeOf(device(0), device(1))
	runIn(node, 10, uuid(1), slurmCgroup("12"), 4e9, 0.3)
	m.apply(node, 10)
	u = use(t, node, job, uuid(1))
	inDelta(t, 0.8, general(u))
	inDelta(t, 400, u.Power)
	assert.Same(t, node.Devices[1].Holders[0].Container, node.Processes[0].Container)

	require.NoError(t, os.Remove(filepath.Join(dir, "1")))
	node = m.apply(nodeOf(device(0), device(1)), 10)
	assert.Empty(t, node.Containers)
	assert.True(t, node.Devices[1].HoldersComplete)
}

// Jobs that share a GPU share the energy of the time in which nothing runs. A job and a unit that use a GPU of another hold nothing.
func TestJobsShareDevice(t *testing.T) {
	m, dir := slurmNode(t)
	m.file(dir, "0", "12\n13\n")
	node := nodeOf(device(0))
	runIn(node, 10, uuid(0), slurmCgroup("12"), 4e9, 0.3)
	runIn(node, 11, uuid(0), slurmCgroup("14"), 2e9, 0.3)
	runIn(node, 12, uuid(0), "0::/system.slice/ollama.service\n", 2e9, 0.2)
	m.apply(node, 10)
	first, second := use(t, node, &gpu.Container{SlurmJob: "12"}, uuid(0)), use(t, node, &gpu.Container{SlurmJob: "13"}, uuid(0))
	inDelta(t, (0.3+0.1)*400, first.Power)
	inDelta(t, 0.1*400, second.Power)
	assert.Equal(t, gpu.SharingTimeSlicing, first.Sharing)
	assert.False(t, first.MemoryLimit.Known())
	assert.True(t, second.IdleTime.Known())
	assert.Equal(t, gpu.Some(false), use(t, node, &gpu.Container{SlurmJob: "14"}, uuid(0)).Allocated)
	assert.Equal(t, gpu.Some(false), use(t, node, &gpu.Container{SystemdUnit: "ollama.service"}, uuid(0)).Allocated)
}

// What is not known is absent: for all GPUs if the directory cannot be read, and for one GPU if its file cannot be read.
func TestUnknownJobs(t *testing.T) {
	m, dir := slurmNode(t)
	m.file(dir, "0", "garbage\n")
	m.file(dir, "1", "12\n")
	node := nodeOf(device(0), device(1), device(2))
	runIn(node, 10, uuid(0), slurmCgroup("14"), 4e9, 0.3)
	m.apply(node, 10)
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "GPU 0")
	assert.False(t, node.Devices[0].HoldersKnown)
	assert.False(t, use(t, node, &gpu.Container{SlurmJob: "14"}, uuid(0)).Allocated.Known())
	assert.Len(t, node.Devices[1].Holders, 1)
	assert.True(t, node.Devices[2].HoldersComplete)

	require.NoError(t, os.RemoveAll(dir))
	node = m.apply(nodeOf(device(0), device(1)), 10)
	require.Len(t, node.Problems, 1)
	require.ErrorIs(t, node.Problems[0].Err, os.ErrNotExist)
	for _, d := range node.Devices {
		assert.False(t, d.HoldersKnown)
	}
}

// The number of a GPU does not show which of its MIG instances a job has; the ID of an instance does.
func TestJobOnMIG(t *testing.T) {
	m, dir := slurmNode(t)
	m.file(dir, "2", "12\n")
	devices := func() *gpu.Node { return nodeOf(device(0), device(2), mig(2, 1), mig(2, 2)) }
	node := m.apply(devices(), 10)
	for _, d := range node.Devices[1:] {
		assert.False(t, d.HoldersKnown, d.ID)
	}
	assert.True(t, node.Devices[0].HoldersComplete)

	require.NoError(t, os.Remove(filepath.Join(dir, "2")))
	m.file(dir, migUUID(21), "12\n")
	node = m.apply(devices(), 10)
	assert.Len(t, node.Devices[2].Holders, 1)
	assert.Empty(t, node.Devices[3].Holders)
	assert.Len(t, node.Devices[1].Holders, 1, "the GPU is held as its instance is")
}

// A job in a pod holds the GPU that the kubelet has given to the pod. The pod has neither use nor idle energy of it.
func TestJobHoldsDeviceOfPod(t *testing.T) {
	dir := t.TempDir()
	m := newMachine(t, func(c *Config) { c.Slurm = &SlurmConfig{MappingDir: dir} }, podOf(slurmd)).start()
	m.kubelet.Set(kubelettest.Pod(slurmd.pod, kubelettest.Container(slurmd.name, resource, uuid(0))))
	m.file(dir, "0", "12\n")
	for range 2 {
		node := nodeOf(device(0))
		runIn(node, 10, uuid(0), slurmd.jobCgroup("12"), 4e9, 0.3)
		m.apply(node, 10)
		require.Len(t, node.Containers, 2)
		job, pod := use(t, node, slurmd.job("12"), uuid(0)), use(t, node, slurmd.joined(), uuid(0))
		assert.Equal(t, gpu.Some(true), job.Allocated)
		assert.Equal(t, gpu.AllocatorSlurm, job.Allocator)
		inDelta(t, 0.8, general(job))
		inDelta(t, 400, job.Power)
		assert.Equal(t, gpu.Some(int64(80e9)), job.MemoryLimit)
		assert.Equal(t, gpu.Some(true), pod.Allocated)
		inDelta(t, 0, pod.Power)
		assert.False(t, pod.MemoryLimit.Known())
	}
	node := m.apply(nodeOf(device(0)), 10)
	assert.True(t, use(t, node, slurmd.job("12"), uuid(0)).IdleTime.Known(), "it is still known in which pod the job runs")
	m.kubelet.Set()
	node = m.apply(nodeOf(device(0)), 1000)
	assert.Equal(t, gpu.Some(true), use(t, node, slurmd.job("12"), uuid(0)).Allocated)
}

// If the GPUs of two vendors are on a machine, a number matches no GPU.
func TestJobsOfSeveralVendors(t *testing.T) {
	m, dir := slurmNode(t)
	m.file(dir, "0", "12\n")
	amd := gpu.Device{ID: "0123456789abcdef", Name: "card1", Vendor: gpu.AMD, CurrentIndex: gpu.Some(0)}
	assert.Len(t, m.apply(nodeOf(amd), 10).Devices[0].Holders, 1)
	node := m.apply(nodeOf(device(0)), 10)
	assert.False(t, node.Devices[0].HoldersKnown)
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "several vendors")

	require.NoError(t, os.Rename(filepath.Join(dir, "0"), filepath.Join(dir, uuid(0))))
	node = m.apply(nodeOf(device(0)), 10)
	assert.Len(t, node.Devices[0].Holders, 1)
	assert.Empty(t, node.Problems)
}

// Control groups of version 1 show the devices of jobs.
func TestJobsByDevices(t *testing.T) {
	root := t.TempDir()
	m := newMachine(t, func(c *Config) { noAPI(c); noKubelet(c); c.Slurm = &SlurmConfig{DevicesPath: root} }).start()
	node := m.apply(nodeOf(device(0), device(1)), 10)
	require.Len(t, node.Problems, 1)
	require.ErrorIs(t, node.Problems[0].Err, slurm.ErrNoDevices)
	assert.False(t, node.Devices[0].HoldersKnown)

	m.file(filepath.Join(root, "slurm", "uid_1000", "job_12"), "devices.list", "c 1:3 rwm\nc 195:255 rwm\nc 195:1 rwm\n")
	node = m.apply(nodeOf(device(0), device(1)), 10)
	assert.Empty(t, node.Problems)
	assert.Equal(t, gpu.Some(true), use(t, node, &gpu.Container{SlurmJob: "12"}, uuid(1)).Allocated)
	assert.True(t, node.Devices[0].HoldersComplete)
}
