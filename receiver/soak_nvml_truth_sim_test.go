// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"slices"
	"strings"
)

func (n *soakNVML) truth() (devices, holders, processes []string) {
	for i := range soaked {
		devices = append(devices, n.machine.uuid(i)+" ok")
	}
	ids := map[string]bool{}
	for _, at := range n.machine.places() {
		id := n.machine.id(at)
		ids[id] = true
		if at.mig >= 0 {
			devices = append(devices, id+" ok")
		}
	}
	for _, p := range n.cluster.pods {
		for _, made := range p.containers {
			for id := range ids {
				if slices.ContainsFunc(made.held, func(name string) bool { return n.isOf(id, name) }) {
					holders = append(holders, fmt.Sprint(id, " ", p.name, " ", made.name))
				}
			}
		}
	}
	for _, p := range n.cluster.processes {
		container, pod := any(nil), any(nil)
		if p.container != nil {
			container, pod = p.container.id, p.container.pod.name
		}
		processes = append(processes, fmt.Sprint(n.machine.id(p.at), " ", p.pid, " ", float64(p.memory<<20), " ", container, " ", pod))
	}
	return devices, holders, processes
}

// isOf tells whether the kubelet's name is of a leaf device. A GPU that was partitioned after it was allocated is all of its parts.
func (n *soakNVML) isOf(id, name string) bool {
	name, _, _ = strings.Cut(name, "::")
	return name == id || name == n.machine.uuid(0) && strings.HasPrefix(id, "MIG-")
}
