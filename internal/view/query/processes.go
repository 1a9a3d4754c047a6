// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import "github.com/otelgpu/gpureceiver/internal/view"

// Processes returns the processes on the GPUs of nodes that belong to matching users. If gpu is not nil, only this GPU and its partitions count.
func Processes(nodes []*view.Node, gpu *view.GPU, users UserFilter) []*view.Process {
	var all []*view.Process
	for _, n := range nodes {
		for _, g := range n.GPUs {
			if gpu != nil && !PartOf(g, gpu) {
				continue
			}
			for _, p := range g.Processes {
				if users.Matches(&p.User) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}
