// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var processLists = [...]struct {
	fn   function
	kind gpu.ProcessType
}{
	{fnComputeProcesses, gpu.ProcessCompute},
	{fnGraphicsProcesses, gpu.ProcessGraphics},
	{fnMPSProcesses, gpu.ProcessMPS},
}

// list adds the processes of a GPU or an instance, and tells whether these are all: what does not list those that compute tells
// of none, and of the other kinds it has no list where it has no such processes.
func (c *caller) list(processes *roster) (all bool) {
	all = true
	processes.clear()
	for i := range processLists {
		l := &processLists[i]
		infos, ok := c.processesOf(l.fn)
		if !ok && (l.kind == gpu.ProcessCompute || c.state[l.fn].noted) {
			all = false
		}
		for _, info := range infos {
			if pid, told := unsigned(info.pid); !told || pid.unsigned == 0 {
				continue // no process, but what a driver has in the place of one
			}
			processes.add(listed{pid: info.pid, memory: byteCount(info.memory), kind: l.kind})
		}
	}
	return all
}

func (c *caller) processesOf(list function) ([]processMemory, bool) {
	if !c.can(list) {
		return nil, false
	}
	infos, ret := c.processList(list)
	return infos, c.ok(list, ret)
}

// readProcesses reads who is on the GPU and how much each used of it since the last read. With MIG on, the instances are
// asked instead, of which the driver does not tell who uses how much.
func (b *board) readProcesses(d *gpu.Device) {
	b.roster.clear()
	if b.mig {
		return
	}
	d.ProcessesUnread = !b.list(&b.roster)
	if b.src.want.Has(gpu.GroupProcessUtilization) {
		b.drainUsages()
	}
}

// drainUsages fetches the samples of the processes' utilisation that the driver took since they were last fetched.
func (b *board) drainUsages() {
	if !b.can(fnProcessUtilization) {
		return
	}
	u := &b.usages
	switch now := b.samples[engineGeneral].last; { // the driver's clock
	case u.last == 0 && now != 0:
		u.start(now, b.src.opts.interval)
		b.ahead[fnProcessUtilization] = false // it was asked for all that there is
	case b.future(u.last):
		u.restart(b.at, b.src.opts.interval)
		b.ahead[fnProcessUtilization] = false // it was asked what is newer than what is yet to come
	}
	raw, ok := b.usagesSince(u.last)
	if newest := newestOf(raw); ok && u.last == 0 && newest > 0 {
		u.begin(newest, b.at, b.src.opts.interval)
		raw, ok = b.usagesSince(u.last)
	}
	if !ok {
		return
	}
	b.used = b.used[:0]
	for i := range raw {
		s := &raw[i]
		if b.future(s.TimeStamp) { // taken before the clock was set back: no matter how much of it belongs here, some is missing
			u.broken = true
			continue
		}
		b.used = append(b.used, usage{pid: s.Pid, time: s.TimeStamp, sm: s.SmUtil, enc: s.EncUtil, decoder: s.DecUtil})
	}
	u.add(b.used)
	b.batch.of(fnProcessUtilization).from(u.last)
}

// usagesSince asks for samples. There may be none: false means that it is not known.
func (b *board) usagesSince(since uint64) ([]gonvml.ProcessUtilizationSample, bool) {
	raw, ret := b.usageList(since)
	return raw, b.ok(fnProcessUtilization, ret) || ret.answer() == nothing
}

func newestOf(samples []gonvml.ProcessUtilizationSample) (newest uint64) {
	for i := range samples {
		newest = max(newest, samples[i].TimeStamp)
	}
	return newest
}

// appendProcesses hands out what readProcesses found.
func (b *board) appendProcesses(out []gpu.Process, device string) []gpu.Process {
	b.usages.clock, b.usages.now = b.samples[engineGeneral].last, b.at
	utilization := b.src.want.Has(gpu.GroupProcessUtilization) && b.supported(fnProcessUtilization) &&
		!b.state[fnProcessUtilization].noted && !b.mig && b.usages.told()
	for _, p := range b.roster.all {
		process := gpu.Process{PID: int64(p.pid), DeviceID: device, Type: p.kind, Memory: p.memory}
		if utilization {
			sm, enc, dec := b.usages.of(p.pid)
			process.Utilization[gpu.TaskGeneral] = gpu.Some(sm)
			process.Utilization[gpu.TaskEncoder] = gpu.Some(enc)
			process.Utilization[gpu.TaskDecoder] = gpu.Some(dec)
		}
		out = append(out, process)
	}
	b.usages.done()
	return out
}
