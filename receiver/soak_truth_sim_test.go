// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// mend ends what is wrong with what runs: the API server tells all, and no process of a pod that has ended is left.
func (c *soakCluster) mend() {
	c.catchUp()
	c.end(func(p *soakProcess) bool {
		_, err := os.Stat(filepath.Join(c.proc, p.folder(), "stat"))
		return err != nil || p.container != nil && !slices.Contains(c.pods, p.container.pod)
	})
}

// wrong tells what is not sent as it is.
func (s *soak) wrong(points []otlptest.Point) string {
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
	wantDevices, wantHolders, wantProcesses := s.truth()
	var b strings.Builder
	for _, compare := range []struct {
		what      string
		want, got []string
	}{{"devices", wantDevices, devices}, {"holders", wantHolders, holders}, {"processes", wantProcesses, processes}} {
		slices.Sort(compare.want)
		slices.Sort(compare.got)
		if !slices.Equal(compare.want, compare.got) {
			fmt.Fprintf(&b, "%s: not told %q, told %q\n", compare.what, without(compare.want, compare.got), without(compare.got, compare.want))
		}
	}
	return b.String()
}

func (s *soak) truth() (devices, holders, processes []string) {
	for i := range soaked {
		devices = append(devices, s.machine.uuid(i)+" ok")
	}
	ids := map[string]bool{}
	for _, at := range s.machine.places() {
		id := s.machine.id(at)
		ids[id] = true
		if at.mig >= 0 {
			devices = append(devices, id+" ok")
		}
	}
	for _, p := range s.cluster.pods {
		for _, made := range p.containers {
			for id := range ids {
				if slices.ContainsFunc(made.held, func(name string) bool { return s.isOf(id, name) }) {
					holders = append(holders, fmt.Sprint(id, " ", p.name, " ", made.name))
				}
			}
		}
	}
	for _, p := range s.cluster.processes {
		container, pod := any(nil), any(nil)
		if p.container != nil {
			container, pod = p.container.id, p.container.pod.name
		}
		processes = append(processes, fmt.Sprint(s.machine.id(p.at), " ", p.pid, " ", float64(p.memory<<20), " ", container, " ", pod))
	}
	return devices, holders, processes
}

// isOf tells whether the kubelet's name is of a leaf device. A GPU that was partitioned after it was allocated is all of its parts.
func (s *soak) isOf(id, name string) bool {
	name, _, _ = strings.Cut(name, "::")
	return name == id || name == s.machine.uuid(0) && strings.HasPrefix(id, "MIG-")
}
