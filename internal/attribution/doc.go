// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package attribution finds the holders and the users of the GPUs of a node. It joins devices with the kubelet's allocations, and
// processes with their containers, pods and owners.
//
// Holding and using are two facts. The kubelet names a holder by the names of its pod and container. A process's control group
// identifies a user by the UID of its pod and the ID of its container. The Kubernetes API joins the two, or the names of the kubelet's
// log files; if neither can be read, they remain two containers. Control groups also identify jobs of batch systems, guests and systemd
// units, which are users as containers are; a job in a container is a user of its own beside it. Slurm's prolog, or control groups of
// version 1, show which of Slurm's jobs hold a device.
//
// One read passes through the files in this order:
//
//	attributor.go               one read: Describe
//	processes.go                the container of each process
//	containers.go, pod_names.go what is known about a container: by its IDs, by its names
//	allocations.go, holders.go  the holders of each device: what the kubelet has allocated
//	slurm_allocations.go        what Slurm has allocated
//	reservations.go, parts.go   the holders of the parts of a shared device
//	usage_accounting.go         what each container holds and uses: gpu.Node.Containers
//
// The forms of device IDs are in package deviceid, what schedulers write into pods about parts of GPUs in package fractions.
package attribution
