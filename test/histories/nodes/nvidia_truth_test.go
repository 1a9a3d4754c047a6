// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"
	"strings"
)

func (n *nvidiaNode) truth() (devices, holders, processes []string) {
	for i := range nvidiaCount {
		devices = append(devices, n.gpus.uuid(i)+" ok")
	}
	ids := map[string]bool{}
	for _, position := range n.gpus.places() {
		id := n.gpus.id(position)
		ids[id] = true
		if position.mig >= 0 {
			devices = append(devices, id+" ok")
		}
	}
	for _, p := range n.cluster.pods {
		for _, member := range p.containers {
			for id := range ids {
				if slices.ContainsFunc(member.devices, func(name string) bool { return n.isOf(id, name) }) {
					holders = append(holders, fmt.Sprint(id, " ", p.name, " ", member.name))
				}
			}
		}
	}
	for _, p := range n.cluster.processes {
		container, pod := any(nil), any(nil)
		if p.container != nil {
			container, pod = p.container.id, p.container.pod.name
		}
		processes = append(processes, fmt.Sprint(n.gpus.id(p.place), " ", p.pid, " ", float64(p.memory<<20), " ", container, " ", pod))
	}
	return devices, holders, processes
}

// isOf reports whether the kubelet's name is the name of a leaf device. The name of a GPU that was partitioned after its allocation
// represents all its instances.
func (n *nvidiaNode) isOf(id, name string) bool {
	name, _, _ = strings.Cut(name, "::")
	return name == id || name == n.gpus.uuid(0) && strings.HasPrefix(id, "MIG-")
}
