// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// onDevices makes a reading of every device absent.
func onDevices(remove func(d *gpu.Device)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Devices {
			remove(&node.Devices[i])
		}
	}
}

// onUses makes a reading of every container's use of a device absent.
func onUses(remove func(u *gpu.ContainerUse)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Containers {
			remove(&node.Containers[i])
		}
	}
}

// onProcesses makes a reading of every process absent.
func onProcesses(remove func(p *gpu.Process)) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.Processes {
			remove(&node.Processes[i])
		}
	}
}

func dropErrors(lifetime bool) func(*gpu.Device) {
	return func(d *gpu.Device) {
		d.Errors = slices.DeleteFunc(d.Errors, func(e gpu.ErrorCount) bool { return e.Lifetime == lifetime })
	}
}

// absent tells for each metric which reading it is made of.
var absent = map[string]func(*gpu.Node){
	"container.gpu.allocated":         onUses(func(u *gpu.ContainerUse) { u.Allocated = gpu.Opt[bool]{} }),
	"container.gpu.energy":            onUses(func(u *gpu.ContainerUse) { u.Energy = gpu.Counter[float64]{} }),
	"container.gpu.idle.time":         onUses(func(u *gpu.ContainerUse) { u.IdleTime = gpu.Counter[float64]{} }),
	"container.gpu.memory.limit":      onUses(func(u *gpu.ContainerUse) { u.MemoryLimit = gpu.Opt[int64]{} }),
	"container.gpu.memory.usage":      onUses(func(u *gpu.ContainerUse) { u.MemoryUsage = gpu.Opt[int64]{} }),
	"container.gpu.power":             onUses(func(u *gpu.ContainerUse) { u.Power = gpu.Opt[float64]{} }),
	"container.gpu.utilization":       onUses(func(u *gpu.ContainerUse) { clear(u.Utilization[:]) }),
	"hw.energy":                       onDevices(func(d *gpu.Device) { d.Energy = gpu.Counter[float64]{} }),
	"hw.errors":                       onDevices(dropErrors(false)),
	"hw.fan.speed_ratio":              onDevices(func(d *gpu.Device) { d.Fans = nil }),
	"hw.gpu.allocated":                onDevices(func(d *gpu.Device) { d.HoldersKnown = false }),
	"hw.gpu.count":                    func(n *gpu.Node) { clear(n.Presence[:]) },
	"hw.gpu.ecc.lifetime":             onDevices(dropErrors(true)),
	"hw.gpu.fault":                    onDevices(func(d *gpu.Device) { d.Faults = nil }),
	"hw.gpu.info":                     func(n *gpu.Node) { n.Devices = nil },
	"hw.gpu.interconnect.io":          onDevices(func(d *gpu.Device) { d.Interconnect.Transmitted, d.Interconnect.Received = none, none }),
	"hw.gpu.interconnect.link.errors": onLinks(func(l *gpu.Link) { l.Errors = nil }),
	"hw.gpu.interconnect.link.io":     onLinks(func(l *gpu.Link) { l.Transmitted, l.Received = none, none }),
	"hw.gpu.io":                       onDevices(func(d *gpu.Device) { d.PCIe.Transmitted, d.PCIe.Received = none, none }),
	"hw.gpu.memory.limit":             onDevices(func(d *gpu.Device) { d.Memory.Limit = gpu.Opt[int64]{} }),
	"hw.gpu.memory.pages.retired":     onDevices(func(d *gpu.Device) { d.RetiredPages.Corrected, d.RetiredPages.Uncorrected = none, none }),
	"hw.gpu.memory.protected.usage":   onDevices(func(d *gpu.Device) { d.Memory.Protected = gpu.Opt[int64]{} }),
	"hw.gpu.memory.remap.state":       onDevices(dropRemapState),
	"hw.gpu.memory.reserved":          onDevices(func(d *gpu.Device) { d.Memory.Reserved = gpu.Opt[int64]{} }),
	"hw.gpu.memory.visible.limit":     onDevices(func(d *gpu.Device) { d.Memory.VisibleLimit = gpu.Opt[int64]{} }),
	"hw.gpu.memory.visible.usage":     onDevices(func(d *gpu.Device) { d.Memory.VisibleUsage = gpu.Opt[int64]{} }),
	"hw.gpu.memory.system.limit":      onDevices(func(d *gpu.Device) { d.Memory.SystemLimit = gpu.Opt[int64]{} }),
	"hw.gpu.memory.system.usage":      onDevices(func(d *gpu.Device) { d.Memory.SystemUsage = gpu.Opt[int64]{} }),
	"hw.gpu.memory.rows.remapped":     onDevices(func(d *gpu.Device) { d.RemappedRows.Corrected, d.RemappedRows.Uncorrected = none, none }),
	"hw.gpu.memory.usage":             onDevices(func(d *gpu.Device) { d.Memory.Usage = gpu.Opt[int64]{} }),
	"hw.gpu.memory.utilization":       onDevices(func(d *gpu.Device) { d.Memory.Limit = gpu.Opt[int64]{} }),
	"hw.gpu.module.power":             onDevices(func(d *gpu.Device) { d.Power.Module = gpu.Opt[float64]{} }),
	"hw.gpu.pcie.generation":          onDevices(func(d *gpu.Device) { d.PCIe.Generation = gpu.Opt[int64]{} }),
	"hw.gpu.pcie.generation.limit":    onDevices(func(d *gpu.Device) { d.PCIe.GenerationLimit = gpu.Opt[int64]{} }),
	"hw.gpu.pcie.width":               onDevices(func(d *gpu.Device) { d.PCIe.Width = gpu.Opt[int64]{} }),
	"hw.gpu.pcie.width.limit":         onDevices(func(d *gpu.Device) { d.PCIe.WidthLimit = gpu.Opt[int64]{} }),
	"hw.gpu.performance_state":        onDevices(func(d *gpu.Device) { d.PerformanceState = gpu.Opt[int64]{} }),
	"hw.gpu.pipe.utilization":         onDevices(func(d *gpu.Device) { clear(d.Pipes[:]) }),
	"hw.gpu.power.instant":            onDevices(func(d *gpu.Device) { d.Power.Instant = gpu.Opt[float64]{} }),
	"hw.gpu.recovery.action":          onDevices(func(d *gpu.Device) { d.RecoveryAction = gpu.Opt[gpu.RecoveryAction]{} }),
	"hw.gpu.sm.occupancy":             onDevices(func(d *gpu.Device) { d.Occupancy = gpu.Opt[float64]{} }),
	"hw.gpu.speed":                    onClocks(func(c *gpu.Clock) { c.Speed = gpu.Opt[float64]{} }),
	"hw.gpu.speed.limit":              onClocks(func(c *gpu.Clock) { c.Limit = gpu.Opt[float64]{} }),
	"hw.gpu.temperature.margin":       onDevices(func(d *gpu.Device) { clear(d.TemperatureMargin[:]) }),
	"hw.gpu.throttle.time":            onThrottles(func(t *gpu.Throttle) { t.Time = gpu.Counter[float64]{} }),
	"hw.gpu.throttled":                onThrottles(func(t *gpu.Throttle) { t.Active = gpu.Opt[bool]{} }),
	"hw.gpu.utilization":              onDevices(func(d *gpu.Device) { clear(d.Utilization[:]) }),
	"hw.power":                        onDevices(func(d *gpu.Device) { d.Power.Draw = gpu.Opt[float64]{} }),
	"hw.power.limit":                  onDevices(func(d *gpu.Device) { clear(d.Power.Limit[:]) }),
	"hw.status":                       func(n *gpu.Node) { n.Devices = nil },
	"hw.temperature":                  onDevices(func(d *gpu.Device) { clear(d.Temperature[:]) }),
	"hw.temperature.limit":            onDevices(func(d *gpu.Device) { clear(d.TemperatureLimit[:]) }),
	"process.gpu.memory.usage":        onProcesses(func(p *gpu.Process) { p.Memory = gpu.Opt[int64]{} }),
	"process.gpu.utilization":         onProcesses(func(p *gpu.Process) { clear(p.Utilization[:]) }),
	"hw.gpu.memory.controller.utilization": onDevices(func(d *gpu.Device) {
		d.MemoryController = gpu.Opt[float64]{}
	}),
}

// derived metrics go with the reading of another.
var derived = map[string][]string{
	"hw.gpu.memory.limit":       {"hw.gpu.memory.utilization"},
	"hw.gpu.memory.usage":       {"hw.gpu.memory.utilization"},
	"hw.gpu.memory.utilization": {"hw.gpu.memory.limit"},
}

var none gpu.Counter[int64]

func onLinks(remove func(l *gpu.Link)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Interconnect.Links {
			remove(&d.Interconnect.Links[i])
		}
	})
}

func onClocks(remove func(c *gpu.Clock)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Clocks {
			remove(&d.Clocks[i])
		}
	})
}

func onThrottles(remove func(t *gpu.Throttle)) func(*gpu.Node) {
	return onDevices(func(d *gpu.Device) {
		for i := range d.Throttle {
			remove(&d.Throttle[i])
		}
	})
}

func dropRemapState(d *gpu.Device) {
	d.RemappedRows.Pending, d.RemappedRows.Failed, d.RetiredPages.Pending = gpu.Opt[bool]{}, gpu.Opt[bool]{}, gpu.Opt[bool]{}
}

// Each metric is made of a reading, and of that reading alone: without it there is no point of the metric, and the others
// are what they were.
func TestAbsentReadingMakesNoPoint(t *testing.T) {
	full := recordAll(fullNode())
	for _, metric := range metricNames() {
		if notOfANode(metric) {
			continue
		}
		t.Run(metric, func(t *testing.T) {
			require.Contains(t, absent, metric, "say in this table which reading the metric is made of")
			assert.NotEmpty(t, otlptest.Of(full, metric), "the full node must produce the metric")
			node := fullNode()
			absent[metric](node)
			without := recordAll(node)
			assert.Empty(t, otlptest.Of(without, metric))
			if len(node.Devices) == 0 {
				return // all that depends on a device is gone
			}
			gone := append([]string{metric}, derived[metric]...)
			want := slices.DeleteFunc(otlptest.Names(full), func(name string) bool { return slices.Contains(gone, name) })
			got := slices.DeleteFunc(otlptest.Names(without), func(name string) bool { return slices.Contains(gone, name) })
			assert.Equal(t, want, got, "the other metrics")
		})
	}
	assert.Subset(t, metricNames(), slices.Collect(mapKeys(absent)), "the table has metrics that do not exist")
}

// notOfANode are the metrics of a cluster, which no Node has.
func notOfANode(metric string) bool { return strings.HasPrefix(metric, "k8s.") }

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// notSent are readings that others need, or none yet.
var notSent = regexp.MustCompile(`\.(Index|GPUInstance|ComputeInstance|Partition|NUMANode)$`)

// Without a single reading exactly its own points are gone, and no other changes.
func TestEachReadingAlone(t *testing.T) {
	full := values(recordAll(fullNode()))
	made := map[string]bool{} // the series that some reading makes
	var paths []string
	readings(fullNode(), func(path string, _ reflect.Value) { paths = append(paths, path) })
	require.Greater(t, len(paths), 150)
	for _, path := range paths {
		if notSent.MatchString(path) {
			continue
		}
		node := fullNode()
		readings(node, func(other string, v reflect.Value) {
			if other == path {
				v.SetZero()
			}
		})
		without := values(recordAll(node))
		assert.Less(t, len(without), len(full), "%s makes no point", path)
		for series, value := range full {
			if got, still := without[series]; !still {
				made[series] = true
			} else if got != value {
				t.Errorf("without %s, %s became %v, was %v", path, series, got, value)
			}
		}
	}
	health := regexp.MustCompile(`^hw\.(status|gpu\.info|gpu\.fault|gpu\.allocated)\{`)
	for series := range full {
		if !made[series] && !health.MatchString(series) {
			t.Errorf("no reading makes %s", series)
		}
	}
}

// A device of which nothing was read has what it is and how it is, and nothing else.
func TestEmptyDevice(t *testing.T) {
	points := recordAll(&gpu.Node{
		Host: gpu.Host{Name: "node-a"}, Time: readAt, Devices: []gpu.Device{{ID: gpuID, Vendor: gpu.NVIDIA}},
	})
	assert.Equal(t, []string{"hw.gpu.info", "hw.status"}, otlptest.Names(points))
	assert.Len(t, points, 1+int(gpu.NumStates))
}

// A node of which nothing is known makes nothing; a process and a container of which nothing was read make no point.
func TestEmptyNode(t *testing.T) {
	assert.Empty(t, recordAll(&gpu.Node{Time: readAt}))
	metrics := newRecorder(everything()).Record(&gpu.Node{
		Time: readAt, Processes: []gpu.Process{{PID: 1, DeviceID: gpuID}},
		Containers: []gpu.ContainerUse{{Container: &gpu.Container{ID: "c"}, DeviceID: gpuID}},
	})
	assert.Zero(t, metrics.ResourceMetrics().Len(), "a resource without points")
}

// A size of 0 makes no fraction of it.
func TestNoMemoryUtilizationWithoutSize(t *testing.T) {
	points := recordAll(&gpu.Node{Time: readAt, Devices: []gpu.Device{{
		ID: gpuID, Memory: gpu.Memory{Limit: gpu.Some[int64](0), Usage: gpu.Some[int64](0)},
	}}})
	assert.Len(t, otlptest.Of(points, "hw.gpu.memory.limit"), 1)
	assert.Empty(t, otlptest.Of(points, "hw.gpu.memory.utilization"))
}

// What is not known has no attribute, rather than an empty one.
func TestNoEmptyAttribute(t *testing.T) {
	node := fullNode()
	node.Devices = append(node.Devices, gpu.Device{ID: "GPU-unknown"})
	node.Containers = append(node.Containers, gpu.ContainerUse{
		Container: &gpu.Container{ID: "cafe03"}, DeviceID: gpuID, Allocated: gpu.Some(true),
	})
	points := recordAll(node)
	require.NotEmpty(t, points)
	for _, p := range points {
		for _, attributes := range []map[string]any{p.Attributes, p.Resource} {
			for name, value := range attributes {
				assert.NotEmpty(t, fmt.Sprint(value), "%s of %s", name, p.Series())
			}
		}
	}
}

// Metrics that are switched off are not there, each alone and all together.
func TestDisabledMetrics(t *testing.T) {
	all := otlptest.Names(recordAll(fullNode()))
	for _, metric := range all {
		cfg := everything()
		enableOne(t, &cfg.Metrics, metric, false)
		got := otlptest.Names(otlptest.Points(newRecorder(cfg).Record(fullNode())))
		assert.Equal(t, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == metric }), got)
	}
	cfg := everything()
	enable(&cfg.Metrics, false)
	assert.Zero(t, newRecorder(cfg).Record(fullNode()).ResourceMetrics().Len())
}
