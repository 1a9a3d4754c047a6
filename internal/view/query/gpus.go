// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// GPUs returns the GPUs of nodes, each partition behind its package.
func GPUs(nodes []*view.Node) []*view.GPU {
	total := 0
	for _, n := range nodes {
		total += len(n.GPUs)
	}
	all := make([]*view.GPU, 0, total)
	for _, n := range nodes {
		all = append(all, n.GPUs...)
	}
	return all
}

// Keep returns nodes with only the kept GPUs, and without the nodes that have no such GPU.
func Keep(nodes []*view.Node, keep func(*view.GPU) bool) []*view.Node {
	var result []*view.Node
	for _, n := range nodes {
		if gpus := filter(n.GPUs, keep); len(gpus) > 0 {
			part := *n
			part.GPUs = gpus
			result = append(result, &part)
		}
	}
	return result
}

// GPU returns the GPU of nodes that has an ID, else the one at that PCI address, else the one with that index. Its error is an
// *UnknownError or an *AmbiguousError.
func GPU(nodes []*view.Node, id string) (*view.GPU, error) {
	address, index := pciAddress(id), packageIndex(id)
	for _, matches := range []func(*view.GPU) bool{
		func(g *view.GPU) bool { return g.ID == id },
		func(g *view.GPU) bool {
			return address != "" && g.PCIAddress != nil && pciAddress(*g.PCIAddress) == address && g.Parent == nil
		},
		func(g *view.GPU) bool { return index >= 0 && g.Index != nil && *g.Index == index && g.Parent == nil },
	} {
		var found *view.GPU
		var hosts []*view.Node
		for _, n := range nodes {
			for _, g := range n.GPUs {
				if matches(g) {
					found, hosts = g, append(hosts, n)
				}
			}
		}
		if len(hosts) > 1 {
			return nil, ambiguous("GPU", id, hosts)
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, &UnknownError{What: "GPU", Name: id}
}

// PartOf reports whether a device is a GPU, or a partition of it.
func PartOf(device, gpu *view.GPU) bool {
	return device == gpu || device.Parent != nil && *device.Parent == gpu.ID &&
		device.Node == gpu.Node && ClusterName(device.Cluster) == ClusterName(gpu.Cluster)
}

// Partitions returns the partitions of a package.
func Partitions(nodes []*view.Node, g *view.GPU) []*view.GPU {
	parts := []*view.GPU{}
	for _, n := range nodes {
		for _, part := range n.GPUs {
			if part != g && PartOf(part, g) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// pciAddress returns a PCI address in one form: domain of four or more digits without needless zeros, lower case. It is empty for
// anything else. Tools print domains of four and of eight digits, and leave 0 out.
func pciAddress(text string) string {
	fields := strings.Split(strings.ToLower(text), ":")
	if len(fields) == 2 {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != 3 {
		return ""
	}
	device, function, ok := strings.Cut(fields[2], ".")
	if !ok || len(fields[1]) != 2 || len(device) != 2 || len(function) != 1 || len(fields[0]) > 8 {
		return ""
	}
	for _, field := range []string{fields[0], fields[1], device, function} {
		if _, err := strconv.ParseUint(field, 16, 32); err != nil {
			return ""
		}
	}
	domain, _ := strconv.ParseUint(fields[0], 16, 32)
	return strconv.FormatUint(domain, 16) + ":" + fields[1] + ":" + fields[2]
}

// packageIndex returns a GPU's index, -1 for anything else.
func packageIndex(text string) int {
	if len(text) > 4 {
		return -1
	}
	index, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return -1
	}
	return int(index)
}

// IdleSince returns since when a container holds a GPU without use: the first of them. It is nil if none is idle.
func IdleSince(g *view.GPU) *time.Time {
	var first *time.Time
	for _, c := range g.Containers {
		if c.IdleSince != nil && (first == nil || c.IdleSince.Before(*first)) {
			first = c.IdleSince
		}
	}
	return first
}

// Holder returns the name of a workload that holds or uses a GPU, nil if none is known.
func Holder(g *view.GPU) *string {
	for _, c := range g.Containers {
		if o, ok := OwnerOf(&c.User, &view.Node{}); ok {
			return &o.Name
		}
	}
	for _, p := range g.Processes {
		if o, ok := OwnerOf(&p.User, &view.Node{}); ok {
			return &o.Name
		}
	}
	return nil
}
