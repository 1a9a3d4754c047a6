// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	id      = "3f2504e04f8911d39a0c0305e82c3301aabbccddeeff00112233445566778899"
	other   = "99887766554433221100ffeeddccbbaa1033c2e85030c0a93d1198f4e04052f3"
	podID   = "8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d11"
	podIDU  = "8b8b1f3c_6f9e_4b52_9c65_0a5b8e2f3d11"
	pod2ID  = "11111111-2222-3333-4444-555555555555"
	hashUID = "4f1a2b3c4d5e6f708192a3b4c5d6e7f8"
)

func TestParse(t *testing.T) {
	inPod := Ref{PodUID: podID, ContainerID: id}
	tests := []struct {
		name, input string
		want        Ref
	}{
		// The drivers, the runtimes and the classes of service.
		{"systemd, containerd, guaranteed", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"systemd, containerd, burstable", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"systemd, CRI-O, best effort", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + podIDU + ".slice/crio-" + id + ".scope", inPod},
		{"systemd, cri-dockerd", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/docker-" + id + ".scope", inPod},
		{"systemd, CRI-O, container below", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/crio-" + id + ".scope/container", inPod},
		{"cgroupfs, containerd, guaranteed", "0::/kubepods/pod" + podID + "/" + id, inPod},
		{"cgroupfs, containerd, burstable", "0::/kubepods/burstable/pod" + podID + "/" + id, inPod},
		{"cgroupfs, CRI-O", "0::/kubepods/besteffort/pod" + podID + "/crio-" + id, inPod},
		{"kubelet's own root, systemd", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"kubelet's own root, cgroupfs", "0::/k8s-e2e/kubepods/burstable/pod" + podID + "/" + id, inPod},
		{"containerd not configured for systemd", "0::/system.slice/containerd.service/kubepods-burstable-pod" + podIDU + ".slice:cri-containerd:" + id, inPod},
		{"containerd not configured for systemd, one name", "1:cpu:/system.slice:containerd.service:kubepods-besteffort-pod" + podIDU + ".slice:cri-containerd:" + id, inPod},
		{"static pod", "0::/kubepods/burstable/pod" + hashUID + "/" + id, Ref{PodUID: hashUID, ContainerID: id}},
		{"static pod, systemd", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hashUID + ".slice/crio-" + id + ".scope", Ref{PodUID: hashUID, ContainerID: id}},
		{"pod without a container", "0::/kubepods/burstable/pod" + podID, Ref{PodUID: podID}},
		{"conmon of a pod", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/crio-conmon-" + id + ".scope", Ref{PodUID: podID}},

		// A process that has ended and was not waited for, while its control group is gone (cgroups(7)).
		{"removed, systemd", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope (deleted)", inPod},
		{"removed, cgroupfs", "0::/kubepods/burstable/pod" + podID + "/" + id + " (deleted)", inPod},
		{"removed, pod", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice (deleted)", Ref{PodUID: podID}},
		{"removed, service", "0::/system.slice/ollama.service (deleted)", Ref{SystemdUnit: "ollama.service"}},

		// Version 1 and the mixed hierarchy.
		{"version 1", "12:memory:/kubepods/burstable/pod" + podID + "/" + id + "\n11:cpu,cpuacct:/kubepods/burstable/pod" + podID + "/" + id + "\n1:name=systemd:/kubepods/burstable/pod" + podID + "/" + id + "\n", inPod},
		{"mixed, version 2 unused", "3:memory:/kubepods/pod" + podID + "/" + id + "\n2:pids:/\n1:name=systemd:/system.slice/containerd.service\n0::/system.slice/containerd.service\n", inPod},
		{"mixed, first lines without an ID", "9:name=systemd:/\n8:pids:/\n5:devices:/kubepods/pod" + podID + "/" + id + "\n0::/\n", inPod},

		// The line that says most counts, in any place.
		{"container before the pod alone", "2:pids:/kubepods/pod" + podID + "/" + id + "\n1:cpu:/kubepods/pod" + pod2ID, inPod},
		{"container after the pod alone", "2:pids:/kubepods/pod" + pod2ID + "\n1:cpu:/kubepods/pod" + podID + "/" + id, inPod},
		{"pod before a container", "2:pids:/kubepods/pod" + podID + "\n1:cpu:/docker/" + other, Ref{PodUID: podID}},
		{"pod after a container", "2:pids:/docker/" + other + "\n1:cpu:/kubepods/pod" + podID, Ref{PodUID: podID}},
		{"container before a job", "2:pids:/docker/" + id + "\n1:cpu:/slurm/uid_1/job_7", Ref{ContainerID: id}},
		{"container after a job", "2:pids:/slurm/uid_1/job_7\n1:cpu:/docker/" + id, Ref{ContainerID: id}},
		{"job after the session", "1:name=systemd:/system.slice/slurmd.service\n5:devices:/slurm/uid_1/job_7", Ref{SlurmJob: "7"}},
		{"the first of two that say as much", "2:pids:/docker/" + id + "\n1:cpu:/docker/" + other, Ref{ContainerID: id}},

		// Paths relative to the reader's own control group namespace.
		{"relative, another pod", "0::/../../kubepods-besteffort.slice/kubepods-besteffort-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"relative, another pod of the class", "0::/../../kubepods-burstable-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"relative, cgroupfs", "0::/../../pod" + podID + "/" + id, inPod},
		{"relative, own pod", "0::/../cri-containerd-" + id + ".scope", Ref{ContainerID: id}},
		{"own container", "0::/", Ref{}},

		// One in the other.
		{"Docker in a pod", "0::/kubepods/burstable/pod" + podID + "/" + id + "/docker/" + other, inPod},
		{"systemd in a pod", "0::/kubepods/burstable/pod" + podID + "/" + id + "/system.slice/sshd.service", inPod},
		{"init.scope in a pod", "0::/kubepods/burstable/pod" + podID + "/" + id + "/init.scope", inPod},
		{"cluster in a Docker container", "0::/docker/" + other + "/kubelet/kubepods/burstable/pod" + podID + "/" + id, inPod},
		{"cluster in a Docker container, systemd", "0::/system.slice/docker-" + other + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope", inPod},
		{"cluster in a pod", "0::/kubepods/pod" + podID + "/" + id + "/kubelet/kubepods/pod" + pod2ID + "/" + other, inPod},

		// Containers without Kubernetes.
		{"Docker, systemd", "0::/system.slice/docker-" + id + ".scope", Ref{ContainerID: id}},
		{"Docker, cgroupfs", "0::/docker/" + id, Ref{ContainerID: id}},
		{"Docker, own init", "0::/docker/" + id + "/init", Ref{ContainerID: id}},
		{"Podman", "0::/machine.slice/libpod-" + id + ".scope/container", Ref{ContainerID: id}},
		{"Podman, of a user", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope/container", Ref{ContainerID: id}},
		{"Podman's monitor", "0::/machine.slice/libpod-conmon-" + id + ".scope", Ref{SystemdUnit: "libpod-conmon-" + id + ".scope"}},
		{"Podman's pod, systemd", "0::/machine.slice/machine-libpod_pod_" + other + ".slice/libpod-" + id + ".scope/container", Ref{ContainerID: id}},
		{"Podman's pod, cgroupfs", "5:devices:/libpod_parent/" + other + "/libpod-" + id, Ref{ContainerID: id}},
		{"Podman without a pod, cgroupfs", "5:devices:/libpod_parent/libpod-" + id, Ref{ContainerID: id}},
		{"containerd", "0::/default/" + id, Ref{ContainerID: id}},
		{"ECS", "0::/ecs/11112222333344445555666677778888/" + id, Ref{ContainerID: id}},

		// Slurm.
		{"Slurm, version 1", "5:devices:/slurm/uid_1000/job_4242/step_0/task_0", Ref{SlurmJob: "4242"}},
		{"Slurm, version 1, several daemons", "5:devices:/slurm_node01/uid_1000/job_4242/step_batch", Ref{SlurmJob: "4242"}},
		{"Slurm, version 2", "0::/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0", Ref{SlurmJob: "4242"}},
		{"Slurm, version 2, several daemons", "0::/system.slice/node01_slurmstepd.scope/job_4242/step_extern/user/task_special", Ref{SlurmJob: "4242"}},
		{"Slurm before the session", "5:devices:/slurm/uid_1000/job_7/step_0\n1:name=systemd:/system.slice/slurmd.service", Ref{SlurmJob: "7"}},
		{"container in a job", "0::/system.slice/slurmstepd.scope/job_4242/step_0/user/libpod-" + id, Ref{ContainerID: id, SlurmJob: "4242"}},
		{"job in a pod", "0::/kubepods.slice/kubepods-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope/system.slice/slurmstepd.scope/job_12/step_0/user/task_0", Ref{PodUID: podID, ContainerID: id, SlurmJob: "12"}},
		{"container of a job in a pod", "0::/kubepods/pod" + podID + "/" + id + "/slurm/uid_1/job_12/docker/" + other, Ref{PodUID: podID, ContainerID: id, SlurmJob: "12"}},
		{"pod in a job", "0::/slurm/uid_1/job_12/docker/" + other + "/kubelet/kubepods/pod" + podID + "/" + id, Ref{PodUID: podID, ContainerID: id, SlurmJob: "12"}},
		{"the scope of Slurm's jobs", "0::/system.slice/slurmstepd.scope/system", Ref{}},
		{"the scope of Slurm's jobs, several daemons", "0::/system.slice/node01_slurmstepd.scope/system", Ref{}},
		{"SLUID with a letter that base 32 lacks", "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV50I/step_0", Ref{}},
		{"SLUID in capitals alone", "0::/system.slice/slurmstepd.scope/SEKNKTV3WPV500/step_0", Ref{}},
		{"SLUID elsewhere", "0::/system.slice/farm.service/sEKNKTV3WPV500", Ref{SystemdUnit: "farm.service"}},
		{"SLUID deeper", "0::/system.slice/slurmstepd.scope/job_7/step_0/sEKNKTV3WPV500", Ref{SlurmJob: "7"}},
		{"Slurm's own daemon, where jobs may run", "0::/system.slice/slurmd.service", Ref{}},
		{"job_ of something else", "0::/system.slice/farm.service/job_12", Ref{SystemdUnit: "farm.service"}},
		{"no job number", "0::/slurm/uid_1/job_x1/job_1x/job_/job_1:/job_/", Ref{SlurmJob: "1"}},
		{"no job number at all", "0::/slurm/uid_1/job_", Ref{}},
		{"too long a job number", "0::/slurm/uid_1/job_123456789012345678901", Ref{}},
		{"a job of its own in a job", "0::/slurm/uid_1/job_90/step_0/job_2", Ref{SlurmJob: "90"}},

		// systemd.
		{"service", "0::/system.slice/ollama.service", Ref{SystemdUnit: "ollama.service"}},
		{"service, version 1", "2:cpu:/\n1:name=systemd:/system.slice/ollama.service", Ref{SystemdUnit: "ollama.service"}},
		{"template", "0::/system.slice/system-vllm.slice/vllm@0.service", Ref{SystemdUnit: "vllm@0.service"}},
		{"session", "0::/user.slice/user-1000.slice/session-3.scope", Ref{SystemdUnit: "session-3.scope"}},
		{"user's own", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/notebook.service", Ref{SystemdUnit: "notebook.service"}},
		{"user's own manager", "0::/user.slice/user-1000.slice/user@1000.service/init.scope", Ref{}},
		{"user's manager alone", "0::/user.slice/user-1000.slice/user@1000.service", Ref{}},
		{"no user's manager", "0::/system.slice/user@home.service", Ref{SystemdUnit: "user@home.service"}},
		{"slice alone", "0::/system.slice", Ref{}},
		{"root", "0::/", Ref{}},

		// Guests.
		{"a unit of a guest", "0::/lxc.payload.web/system.slice/ollama.service", Ref{ContainerName: "web"}},
		{"init.scope of a guest", "0::/lxc/100/ns/init.scope", Ref{ContainerName: "100"}},
		{"Docker in a guest", "0::/lxc.payload.web/system.slice/docker-" + id + ".scope", Ref{ContainerName: "web", ContainerID: id}},
		{"cluster in a guest", "0::/lxc.payload.web/kubepods/pod" + podID + "/" + id, inPod},
		{"guest in a pod", "0::/kubepods/pod" + podID + "/" + id + "/lxc.payload.web/init.scope", inPod},
		{"guest in a guest", "0::/lxc.payload.web/lxc.payload.inner/init.scope", Ref{ContainerName: "web"}},
		{"a guest's monitor", "0::/lxc.monitor.web", Ref{}},
		{"a guest without a name", "0::/lxc.payload./x.service", Ref{SystemdUnit: "x.service"}},
		{"an escaped name", `0::/machine.slice/machine-my\x2dbox.scope/payload`, Ref{ContainerName: "my-box"}},
		{"an escape of a control character", `0::/machine.slice/machine-my\x00box.scope/payload`, Ref{ContainerName: `my\x00box`}},
		{"a half escape", `0::/machine.slice/machine-my\x2.scope/payload`, Ref{ContainerName: `my\x2`}},
		{"a virtual machine", `0::/machine.slice/machine-qemu\x2d1\x2dvm.scope/libvirt/emulator`, Ref{SystemdUnit: `machine-qemu\x2d1\x2dvm.scope`}},
		{"a job in a guest", "0::/lxc.payload.node1/system.slice/slurmstepd.scope/job_5/step_0", Ref{ContainerName: "node1", SlurmJob: "5"}},

		// Other batch systems.
		{"PBS, no job", "0::/pbs_jobs.service/jobid", Ref{}},
		{"HTCondor's daemons", "0::/system.slice/condor.service", Ref{}},
		{"HTCondor, no slot", "0::/htcondor/condor_var_lib_condor_execute", Ref{}},
		{"Grid Engine, no job", "3:cpuset:/sge/daemon", Ref{}},
		{"LSF, no job", "4:memory:/lsf/cluster1/job.x.1", Ref{}},
		{"Nomad, no allocation", "4:memory:/nomad/share", Ref{}},
		{"a shell that is not Flux's", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell-fish0.service", Ref{SystemdUnit: "shell-fish0.service"}},
		{"Flux's form of a system unit", "0::/system.slice/shell-f2xyz.service", Ref{SystemdUnit: "shell-f2xyz.service"}},
		{"YARN, too few numbers", "4:cpu:/hadoop-yarn/container_1_2_3", Ref{}},
		{"Docker in a YARN container", "0::/hadoop-yarn/container_1_2_3_4/" + id, Ref{ContainerID: id, BatchSystem: "yarn", BatchJob: "container_1_2_3_4"}},

		// Not what it seems.
		{"Fargate's form elsewhere", "0::/system.slice/" + id[:32] + "-12/x.service", Ref{SystemdUnit: "x.service"}},
		{"a task deeper than containerd's", "0::/a/default/job", Ref{}},
		{"too short an id", "0::/kubepods/pod" + podID + "/" + id[1:], Ref{PodUID: podID}},
		{"no hexadecimal digits", "0::/docker/" + id[1:] + "g/" + id[1:] + "/" + id[1:] + ".", Ref{}},
		{"no hexadecimal digits in a UID", "0::/kubepods/pod8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d1g", Ref{}},
		{"too many parts of a UID", "0::/kubepods/pod8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d1-", Ref{}},
		{"upper case", "0::/docker/" + strings.ToUpper(id), Ref{}},
		{"a folder named pod", "0::/podman/pods/podium", Ref{}},
		{"a slice of another kind", "0::/my-pod" + podIDU + ".slice", Ref{}},
		{"malformed UID", "0::/kubepods/pod8b8b1f3c-6f9e-4b52-9c650-a5b8e2f3d11/" + id, Ref{ContainerID: id}},
		{"empty", "", Ref{}},
		{"garbage", "abc\n::\n:\n0:\x00/\n", Ref{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Parse(tt.input))
		})
	}
}

func TestInContainer(t *testing.T) {
	assert.True(t, Ref{PodUID: podID}.InContainer())
	assert.True(t, Ref{ContainerID: id}.InContainer())
	assert.True(t, Ref{ContainerName: "web"}.InContainer())
	assert.False(t, Ref{SystemdUnit: "a.service"}.InContainer())
	assert.False(t, Ref{SlurmJob: "1"}.InContainer())
	assert.False(t, Ref{BatchSystem: "pbs", BatchJob: "1"}.InContainer())
}

func TestInJob(t *testing.T) {
	assert.True(t, Ref{SlurmJob: "1", PodUID: podID}.InJob())
	assert.True(t, Ref{SlurmSLUID: "sEKNKTV3WPV500"}.InJob())
	assert.True(t, Ref{BatchSystem: "pbs", BatchJob: "1"}.InJob())
	assert.False(t, Ref{PodUID: podID, ContainerID: id, ContainerName: "web"}.InJob())
	assert.False(t, Ref{SystemdUnit: "a.service"}.InJob())
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + podIDU + ".slice/cri-containerd-" + id + ".scope",
		"12:memory:/kubepods/burstable/pod" + podID + "/" + id + "\n0::/\n",
		"0::/../../pod" + hashUID + "/crio-" + id,
		"0::/system.slice/slurmstepd.scope/job_4242/step_0",
		"0::/kubepods/pod" + podID + "/" + id + "/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0",
		"0::/user.slice/user-1000.slice/session-3.scope",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/imp-shell-f2xyz.service",
		`0::/machine.slice/machine-lxc\x2d12\x2dmy\x2dbox.scope/x.service`,
		"0::/lxc/100/ns/system.slice/docker-" + id + ".scope",
		"5:devices:/pbs_jobs.service/jobid/12[3].pbs",
		"5:devices:/htcondor/condor_var_lib_condor_execute_slot1_2@node",
		"5:devices:/lsf/cluster1/job.12[3].456.789\n4:cpuset:/sge/12.3/4",
		"0::/nomad.slice/share.slice/" + podID + ".web.scope",
		"0::/hadoop-yarn/container_e17_1_2_3_4/" + id,
		"1:name=systemd:/ecs/" + hashUID + "-12",
		"0::/default/task", "0::/user.slice/apptainer-12.scope",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		ref := Parse(content)
		if ref.PodUID != "" {
			assert.Contains(t, []int{32, 36}, len(ref.PodUID))
			assert.Contains(t, strings.ReplaceAll(content, "_", "-"), ref.PodUID)
		}
		if ref.ContainerID != "" {
			assert.GreaterOrEqual(t, len(ref.ContainerID), 34)
			assert.Contains(t, content, ref.ContainerID)
		}
		if ref.InContainer() || ref.InJob() {
			assert.Empty(t, ref.SystemdUnit)
		}
		assert.Equal(t, ref.BatchSystem == "", ref.BatchJob == "")
		assert.False(t, ref.SlurmJob != "" && ref.SlurmSLUID != "")
		assert.Contains(t, content, ref.SlurmJob)
		assert.Contains(t, content, ref.SlurmSLUID)
		assert.Contains(t, content, ref.SystemdUnit)
		for _, manager := range append([]string{"user@1000.service"}, jobManagers...) {
			assert.NotEqual(t, manager, ref.SystemdUnit)
		}
	})
}
