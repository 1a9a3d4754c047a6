// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/otelgpu/gpureceiver/internal/attribution/cgroup"

const (
	aContainer = "3f2504e04f8911d39a0c0305e82c3301aabbccddeeff00112233445566778899"
	aPod       = "8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d11"
	aPodSlice  = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8b8b1f3c_6f9e_4b52_9c65_0a5b8e2f3d11.slice"
	aTask      = "34dc0b5e626f2c5c4c5170e34b10e765"
	anAlloc    = "4744f0ea-7616-ab3a-a420-8e25056e3861"
)

const (
	kubeletSource     = "https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/cm/cgroup_manager_linux.go"
	slurmV1Source     = "https://github.com/SchedMD/slurm/blob/master/src/plugins/cgroup/v1/cgroup_v1.c"
	slurmV2Source     = "https://slurm.schedmd.com/cgroup_v2.html"
	slurmSLUIDSource  = "https://slurm.schedmd.com/cgroup.conf.html" // CgroupJobIdPaths
	openPBSSource     = "https://github.com/openpbs/openpbs/blob/master/test/tests/functional/pbs_cgroups_hook.py"
	pbsExporterSource = "https://github.com/0nebody/pbs_exporter" // of version 2, which OpenPBS itself does not test
	condorSource      = "https://github.com/htcondor/htcondor/blob/main/docs/admin-manual/ep-policy-configuration.rst"
	condorCodeSource  = "https://github.com/htcondor/htcondor/blob/main/src/condor_starter.V6.1/vanilla_proc.cpp"
	nomadSource       = "https://github.com/hashicorp/nomad/blob/main/client/lib/cgroupslib/editor.go"
	apptainerSource   = "https://github.com/apptainer/apptainer/blob/main/internal/pkg/cgroups/manager_linux.go"
	lxcSource         = "https://github.com/lxc/lxc/blob/main/src/lxc/cgroups/cgroup.h"
	nspawnSource      = "https://github.com/systemd/systemd/blob/main/units/systemd-nspawn%40.service.in"
	systemdUserSource = "https://github.com/systemd/systemd/blob/main/units/user%40.service.in"
)

// cgroupPlatforms are the forms of control groups.
var cgroupPlatforms = []platform{
	{"Kubernetes, containerd", kubeletSource, cgroupForm{"0::" + aPodSlice + "/cri-containerd-" + aContainer + ".scope", cgroup.Ref{PodUID: aPod, ContainerID: aContainer}}},
	{"Kubernetes, CRI-O", kubeletSource, cgroupForm{"0::" + aPodSlice + "/crio-" + aContainer + ".scope/container", cgroup.Ref{PodUID: aPod, ContainerID: aContainer}}},
	{"Kubernetes, cgroupfs", kubeletSource, cgroupForm{"0::/kubepods/burstable/pod" + aPod + "/" + aContainer, cgroup.Ref{PodUID: aPod, ContainerID: aContainer}}},
	{"Docker", "https://docs.docker.com/engine/containers/runmetrics/", cgroupForm{"0::/system.slice/docker-" + aContainer + ".scope", cgroup.Ref{ContainerID: aContainer}}},
	{
		"Fargate", "https://github.com/DataDog/dd-trace-php/blob/master/components/container_id/container_id.c",
		cgroupForm{"1:name=systemd:/ecs/" + aTask + "-1234567890", cgroup.Ref{ContainerID: aTask + "-1234567890"}},
	},
	{
		"Fargate, below the task", "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-metadata-endpoint-v4-fargate.html",
		cgroupForm{"0::/ecs/" + aTask + "/" + aTask + "-1234567890", cgroup.Ref{ContainerID: aTask + "-1234567890"}},
	},
	{
		"ctr, a named task", "https://github.com/containerd/containerd/blob/main/pkg/oci/spec_opts.go",
		cgroupForm{"0::/default/train", cgroup.Ref{ContainerName: "train"}},
	},
	{"Apptainer, version 1", apptainerSource, cgroupForm{"9:devices:/apptainer/196219", cgroup.Ref{ContainerName: "apptainer-196219"}}},
	{"Apptainer, of a user", apptainerSource, cgroupForm{
		"0::/user.slice/user-1000.slice/user@1000.service/user.slice/apptainer-196219.scope", cgroup.Ref{ContainerName: "apptainer-196219"},
	}},
	{"Apptainer, of root", apptainerSource, cgroupForm{"0::/system.slice/apptainer-196219.scope", cgroup.Ref{ContainerName: "apptainer-196219"}}},

	{"Slurm, version 1", slurmV1Source, cgroupForm{"5:devices:/slurm/uid_1000/job_4242/step_0/task_0", cgroup.Ref{SlurmJob: "4242"}}},
	{"Slurm, version 2", slurmV2Source, cgroupForm{"0::/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0", cgroup.Ref{SlurmJob: "4242"}}},
	{"Slurm 26.05", slurmSLUIDSource, cgroupForm{"0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", cgroup.Ref{SlurmSLUID: "sEKNKTV3WPV500"}}},
	{"Slurm 26.05, CgroupJobIdPaths", slurmSLUIDSource, cgroupForm{"0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", cgroup.Ref{SlurmJob: "123"}}},
	{"Slurm, several daemons", slurmV2Source, cgroupForm{"0::/system.slice/node1_slurmstepd.scope/job_9/step_batch/user/task_0", cgroup.Ref{SlurmJob: "9"}}},
	{"Slurm, its own processes", slurmV2Source, cgroupForm{"0::/system.slice/slurmstepd.scope/system", cgroup.Ref{}}},
	{"Slinky, a job in a pod", "https://github.com/SlinkyProject/slurm-operator", cgroupForm{
		"0::" + aPodSlice + "/cri-containerd-" + aContainer + ".scope/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
		cgroup.Ref{PodUID: aPod, ContainerID: aContainer, SlurmJob: "12"},
	}},
	{"Slinky, below the pod", "https://github.com/SlinkyProject/slurm-operator", cgroupForm{
		"0::" + aPodSlice + "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0", cgroup.Ref{PodUID: aPod, SlurmJob: "12"},
	}},
	{"Soperator, version 1", "https://github.com/nebius/soperator", cgroupForm{
		"5:devices:/kubepods/burstable/pod" + aPod + "/" + aContainer + "/slurm/uid_1004/job_77/step_0/task_0",
		cgroup.Ref{PodUID: aPod, ContainerID: aContainer, SlurmJob: "77"},
	}},
	{"Slurm 26.05 in a pod", slurmSLUIDSource, cgroupForm{
		"0::" + aPodSlice + "/crio-" + aContainer + ".scope/system.slice/slurmstepd.scope/s8G5M22WGXB100/step_0/user/task_0",
		cgroup.Ref{PodUID: aPod, ContainerID: aContainer, SlurmSLUID: "s8G5M22WGXB100"},
	}},
	{"Slurm, a container in a job", "https://slurm.schedmd.com/containers.html", cgroupForm{
		"0::/system.slice/slurmstepd.scope/job_4242/step_0/user/libpod-" + aContainer, cgroup.Ref{ContainerID: aContainer, SlurmJob: "4242"},
	}},

	{"PBS, version 1", openPBSSource, cgroupForm{"5:devices:/pbs_jobs.service/jobid/2404743.pbs", cgroup.Ref{BatchSystem: "pbs", BatchJob: "2404743.pbs"}}},
	{"PBS, a job of an array", openPBSSource, cgroupForm{"5:devices:/pbs_jobs.service/jobid/12[3].pbs", cgroup.Ref{BatchSystem: "pbs", BatchJob: "12[3].pbs"}}},
	{"PBS, version 2", pbsExporterSource, cgroupForm{"0::/pbs_jobs.service/jobs/12345.pbs", cgroup.Ref{BatchSystem: "pbs", BatchJob: "12345.pbs"}}},
	{"PBS, no job", pbsExporterSource, cgroupForm{"0::/pbs_jobs.service/jobs", cgroup.Ref{}}},
	{"HTCondor, version 1", condorSource, cgroupForm{
		"5:devices:/htcondor/condor_var_lib_condor_execute_slot1", cgroup.Ref{BatchSystem: "htcondor", BatchJob: "slot1"},
	}},
	{"HTCondor, version 2", condorCodeSource, cgroupForm{
		"0::/system.slice/htcondor/condor_var_lib_condor_execute_slot1_23@node7.example.org",
		cgroup.Ref{BatchSystem: "htcondor", BatchJob: "slot1_23@node7.example.org"},
	}},
	{"HTCondor, jobs without a group of their own", condorSource, cgroupForm{"0::/system.slice/condor.service", cgroup.Ref{}}},
	{"LSF", "https://github.com/ethz-hpc/collectd/blob/master/src/jobmetrics.c", cgroupForm{
		"4:memory:/lsf/cluster1/job.7183.20771.1467231142", cgroup.Ref{BatchSystem: "lsf", BatchJob: "7183"},
	}},
	{"LSF, a job of an array", "https://github.com/ethz-hpc/collectd/blob/master/src/jobmetrics.c", cgroupForm{
		"4:memory:/lsf/cluster1/job.7183[2].20771.1467231142", cgroup.Ref{BatchSystem: "lsf", BatchJob: "7183[2]"},
	}},
	{"Grid Engine", "https://gridengine.sourceforge.io/SGE/htmlman/htmlman5/sge_conf.html", cgroupForm{
		"3:cpuset:/sge/4711.1/20771", cgroup.Ref{BatchSystem: "grid_engine", BatchJob: "4711.1"},
	}},
	{"Nomad, version 1", nomadSource, cgroupForm{"4:memory:/nomad/" + anAlloc + ".web", cgroup.Ref{BatchSystem: "nomad", BatchJob: anAlloc + ".web"}}},
	{"Nomad, version 1, cpuset", nomadSource, cgroupForm{"4:cpuset:/nomad/reserve/" + anAlloc + ".web", cgroup.Ref{BatchSystem: "nomad", BatchJob: anAlloc + ".web"}}},
	{"Nomad, version 2", nomadSource, cgroupForm{"0::/nomad.slice/share.slice/" + anAlloc + ".web.scope", cgroup.Ref{BatchSystem: "nomad", BatchJob: anAlloc + ".web"}}},
	{"Flux", "https://github.com/flux-framework/flux-core/blob/master/src/modules/sdmon/sdmon.c", cgroupForm{
		"0::/user.slice/user-500.slice/user@500.service/app.slice/imp-shell-f2xyzABC.service", cgroup.Ref{BatchSystem: "flux", BatchJob: "f2xyzABC"},
	}},
	{"YARN", "https://hadoop.apache.org/docs/stable/hadoop-yarn/hadoop-yarn-site/NodeManagerCgroups.html", cgroupForm{
		"4:cpu:/hadoop-yarn/container_1558621002730_0013_01_000002", cgroup.Ref{BatchSystem: "yarn", BatchJob: "container_1558621002730_0013_01_000002"},
	}},
	{"YARN, after a restart of its manager", "https://hadoop.apache.org/docs/stable/api/org/apache/hadoop/yarn/api/records/ContainerId.html", cgroupForm{
		"4:cpu:/hadoop-yarn/container_e17_1410901177871_0001_01_000005",
		cgroup.Ref{BatchSystem: "yarn", BatchJob: "container_e17_1410901177871_0001_01_000005"},
	}},

	{"LXC", lxcSource, cgroupForm{"0::/lxc.payload.ai/system.slice/ollama.service", cgroup.Ref{ContainerName: "ai"}}},
	{"LXC, its monitor", lxcSource, cgroupForm{"0::/lxc.monitor.ai", cgroup.Ref{}}},
	{"LXC, version 1", "https://linuxcontainers.org/lxc/manpages/man5/lxc.container.conf.5.html", cgroupForm{
		"5:devices:/lxc/ai/system.slice/ollama.service", cgroup.Ref{ContainerName: "ai"},
	}},
	{"LXD, a project", "https://documentation.ubuntu.com/lxd/latest/", cgroupForm{"0::/lxc.payload.lab_ai/init.scope", cgroup.Ref{ContainerName: "lab_ai"}}},
	{"Incus", "https://linuxcontainers.org/incus/docs/main/", cgroupForm{"0::/lxc.payload.ai/user.slice/user-0.slice/session-1.scope", cgroup.Ref{ContainerName: "ai"}}},
	{"Proxmox", "https://pve.proxmox.com/wiki/Linux_Container", cgroupForm{"0::/lxc/100/ns/init.scope", cgroup.Ref{ContainerName: "100"}}},
	{"Proxmox, a unit", "https://pve.proxmox.com/wiki/Linux_Container", cgroupForm{"0::/lxc/101/ns/system.slice/ollama.service", cgroup.Ref{ContainerName: "101"}}},
	{"libvirt's LXC", "https://libvirt.org/cgroups.html", cgroupForm{`0::/machine.slice/machine-lxc\x2d12345\x2ddemo.scope/libvirt`, cgroup.Ref{ContainerName: "demo"}}},
	{"systemd-nspawn", nspawnSource, cgroupForm{"0::/machine.slice/systemd-nspawn@debian.service/payload/system.slice/app.service", cgroup.Ref{ContainerName: "debian"}}},
	{"systemd-nspawn, a scope", nspawnSource, cgroupForm{"0::/machine.slice/machine-debian.scope/payload/init.scope", cgroup.Ref{ContainerName: "debian"}}},

	{"systemd, a service", "https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html", cgroupForm{
		"0::/system.slice/ollama.service", cgroup.Ref{SystemdUnit: "ollama.service"},
	}},
	{"systemd, a user's service", systemdUserSource, cgroupForm{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service", cgroup.Ref{SystemdUnit: "jupyter.service"},
	}},
	{"systemd, a user's manager", systemdUserSource, cgroupForm{"0::/user.slice/user-1000.slice/user@1000.service", cgroup.Ref{}}},
	{"systemd, a login", "https://www.freedesktop.org/software/systemd/man/latest/pam_systemd.html", cgroupForm{
		"0::/user.slice/user-1000.slice/session-3.scope", cgroup.Ref{SystemdUnit: "session-3.scope"},
	}},
}
