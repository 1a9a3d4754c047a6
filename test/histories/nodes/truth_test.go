// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// untrue returns the values that differ from the true state.
func (n *node) untrue(points []otlptest.Point) string {
	var devices, holders, processes []string
	for _, p := range points {
		id, _ := p.Attributes["hw.id"].(string)
		switch {
		case p.Metric == "hw.status" && p.Value == 1:
			devices = append(devices, id+" "+p.Attributes["hw.state"].(string))
		case p.Metric == "container.gpu.allocated" && p.Value == 1:
			holders = append(holders, fmt.Sprint(id, " ", p.Attributes["k8s.pod.name"], " ", p.Attributes["k8s.container.name"]))
		case p.Metric == "process.gpu.memory.usage":
			processes = append(processes, fmt.Sprint(id, " ", p.Attributes["process.pid"], " ", p.Value, " ", p.Resource["container.id"], " ", p.Resource["k8s.pod.name"]))
		}
	}
	wantDevices, wantHolders, wantProcesses := n.machine.truth()
	var b strings.Builder
	for _, compare := range []struct {
		title     string
		want, got []string
	}{{"devices", wantDevices, devices}, {"holders", wantHolders, holders}, {"processes", wantProcesses, processes}} {
		slices.Sort(compare.want)
		slices.Sort(compare.got)
		if !slices.Equal(compare.want, compare.got) {
			fmt.Fprintf(&b, "%s: missing %q, wrong %q\n", compare.title, without(compare.want, compare.got), without(compare.got, compare.want))
		}
	}
	return b.String()
}
