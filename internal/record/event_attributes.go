// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// attributes sets attributes of a log record; absent ones stay unset.
type attributes struct{ pcommon.Map }

func (a attributes) text(name, value string) {
	if value != "" {
		a.PutStr(name, value)
	}
}

func (a attributes) double(name string, value gpu.Opt[float64]) {
	if v, ok := value.Get(); ok {
		a.PutDouble(name, v)
	}
}

func (a attributes) int(name string, value gpu.Opt[int64]) {
	if v, ok := value.Get(); ok {
		a.PutInt(name, v)
	}
}

func (a attributes) bool(name string, value gpu.Opt[bool]) {
	if v, ok := value.Get(); ok {
		a.PutBool(name, v)
	}
}

func (a attributes) link(number gpu.Opt[int64]) {
	if n, ok := number.Get(); ok {
		a.PutStr("hw.gpu.interconnect.link", strconv.FormatInt(n, 10))
	}
}

func (a attributes) seconds(name string, value gpu.Opt[time.Duration]) {
	if v, ok := value.Get(); ok {
		a.PutDouble(name, v.Seconds())
	}
}

func (a attributes) time(name string, value time.Time) {
	if !value.IsZero() {
		a.PutStr(name, iso8601(value))
	}
}

// container sets what identifies a container.
func (a attributes) container(c *gpu.Container) {
	a.text("container.id", c.ID)
	a.text("container.name", c.RuntimeName)
	a.text("k8s.container.name", c.Name)
	a.text("k8s.namespace.name", c.Namespace)
	a.text("k8s.pod.name", c.PodName)
	a.text("k8s.pod.uid", c.PodUID)
}

// sum sets how many events the record stands for, and when they happened.
func (a attributes) sum(e *gpu.Event) {
	if e.Count > 0 {
		a.PutInt("hw.gpu.event.count", e.Count)
		a.text("hw.gpu.event.first_time", iso8601(e.First))
		a.text("hw.gpu.event.last_time", iso8601(e.Time))
	}
}

// deviceText names the device of an event for people: nvidia0 (NVIDIA H100).
func deviceText(e *gpu.Event) string {
	name := cmp.Or(e.Name, e.DeviceID)
	if e.Model != "" {
		name += " (" + e.Model + ")"
	}
	return name
}

// repeats sets the sum of repeats, and the earlier event with which this one comes.
func (a attributes) repeats(e *gpu.Event) {
	a.text("hw.gpu.event.follows", e.Follows)
	a.sum(e)
}

// namedProcess sets the process that the driver names; nil if it names no process.
func (a attributes) namedProcess(p *gpu.Process) {
	if p != nil {
		a.PutInt("process.pid", p.PID)
		a.text("process.executable.name", p.Executable)
	}
}

// maxContainers is how many containers a record names.
const maxContainers = 16

// containers names the containers that held and used the device, if they are known. If it was one container, its attributes are set too.
func (a attributes) containers(e *gpu.Event) {
	a.names("hw.gpu.held_by", e.Holders)
	a.names("hw.gpu.used_by", e.Users)
	c := onlyContainer(e.Holders, e.Users)
	if c == nil {
		return
	}
	a.workload(c)
}

// workload sets what identifies a container, and the topmost owner of its pod.
func (a attributes) workload(c *gpu.Container) {
	a.container(c)
	if len(c.Owners) > 0 {
		a.topOwner(c.Owners)
	}
	a.text("slurm.job.id", c.SlurmJob)
	a.text("slurm.job.sluid", c.SlurmSLUID)
	a.text("batch.system", c.BatchSystem)
	a.text("batch.job.id", c.BatchJob)
	a.text("systemd.unit.name", c.SystemdUnit)
}

// topOwner sets the last of the owners as the workload, and returns it.
func (a attributes) topOwner(owners []gpu.Owner) gpu.Owner {
	top := owners[len(owners)-1]
	a.text("k8s.workload.kind", top.Kind)
	a.text("k8s.workload.name", top.Name)
	return top
}

// labels sets the configured labels and annotations of a pod.
func (a attributes) labels(labels map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		a.PutStr(name, labels[name])
	}
}

// names sets a list of containers, also an empty one. An absent list is not known, and so is one of containers without any name.
func (a attributes) names(name string, containers []*gpu.Container) {
	if containers == nil {
		return
	}
	names := make([]string, 0, len(containers))
	for _, c := range containers {
		if text := containerText(c); text != "" {
			names = append(names, text)
		}
	}
	if len(names) == 0 && len(containers) > 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	list := a.PutEmptySlice(name)
	for _, text := range names[:min(len(names), maxContainers)] {
		list.AppendEmpty().SetStr(text)
	}
}

// containerText names a container in a list: namespace/pod/container, else by what is known of it. A job in a pod follows the pod.
func containerText(c *gpu.Container) string {
	job := cmp.Or(c.SlurmJob, c.SlurmSLUID, c.BatchJob)
	if c.PodName != "" {
		names := []string{c.Namespace, c.PodName, c.Name, job}
		return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), "/")
	}
	return cmp.Or(job, c.SystemdUnit, c.ID, c.RuntimeName)
}

// onlyContainer returns the container that alone held or used the device; nil if there is no such container. A container that held it is
// preferred to the same container as a user: the kubelet knows more of it.
func onlyContainer(holders, users []*gpu.Container) *gpu.Container {
	var match *gpu.Container
	for _, c := range slices.Concat(holders, users) {
		switch {
		case match == nil:
			match = c
		case containerText(match) != containerText(c):
			return nil
		}
	}
	return match
}
