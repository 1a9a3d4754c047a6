// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
)

// device is a package and its partitions. The formats have no partitions: a package represents them.
type device struct {
	*view.GPU
	parts []*view.GPU
}

// devices returns the packages of a node with their partitions.
func devices(n *view.Node) []device {
	var list []device
	places := map[string]int{}
	for _, g := range n.GPUs {
		if g.Parent == nil {
			places[g.ID] = len(list)
			list = append(list, device{GPU: g})
		}
	}
	for _, g := range n.GPUs {
		if g.Parent == nil {
			continue
		}
		if place, known := places[*g.Parent]; known {
			list[place].parts = append(list[place].parts, g)
		}
	}
	return list
}

// general returns how busy the GPU is. For a divided GPU this is the mean of the partitions that have a value.
func (d *device) general() *float64 { return query.Utilization(d.GPU, d.parts) }

// core returns the hottest sensor that is not the memory's, and one without a value only if none has a value: its limits hold all the same.
func (d *device) core() *view.Temperature {
	var hottest *view.Temperature
	for i := range d.Temperatures {
		t := &d.Temperatures[i]
		switch {
		case t.Sensor == "memory":
		case hottest == nil, hottest.Celsius == nil, t.Celsius != nil && *t.Celsius > *hottest.Celsius:
			hottest = t
		}
	}
	return hottest
}

// fan returns the speed of the fastest fan.
func (d *device) fan() *float64 {
	var fastest *float64
	for i := range d.Fans {
		if speed := &d.Fans[i].Speed; fastest == nil || *speed > *fastest {
			fastest = speed
		}
	}
	return fastest
}

// processes returns the processes on the package and on its partitions.
func (d *device) processes() []*view.Process {
	all := slices.Clip(d.Processes) // the snapshot shares it
	for _, part := range d.parts {
		all = append(all, part.Processes...)
	}
	return all
}

// processName returns the name of the program, else the command.
func processName(p *view.Process) *string {
	if p.Name != nil {
		return p.Name
	}
	return p.Command
}

// unreadable reports whether a source says that the node cannot be read.
func unreadable(n *view.Node) bool { return n.Readable != nil && !*n.Readable }
