// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

var (
	migMode = library.NewFunction("MIG mode", "nvmlDeviceGetMigMode")
	migMax  = library.NewFunction("number of MIG instances", "nvmlDeviceGetMaxMigDeviceCount")
)

// maxInstances bounds how many instances a GPU may report. The hardware has at most 7 GPU instances of 1 compute instance each, or fewer of
// more.
const maxInstances = 64

// partitions finds out whether MIG is on, and which instances there are.
//
// Values that cannot be read stay as they are known, because a failure is not a change: without its instances the GPU would seem to run
// their processes, and the holder of an instance would be without one.
type partitions struct {
	modeRead   bool // the mode was found out, not assumed
	limit      gpu.Opt[int]
	instances  []*instance
	identities atomic.Pointer[[]*Identity] // of the instances, for callers during a read of the GPU
	retries    [maxInstances]library.Retry // of the indexes; each has its own, so that none hides the instances behind it
}

// enabled reports whether MIG is on, as far as is known. A GPU that has no MIG is asked once, and one whose MIG is off seldom: see keptValues.
func (p *partitions) enabled(dev *device) bool {
	if _, off := dev.cache.values[migMode]; off {
		return false
	}
	dev.migModes = migModes{}
	callable := dev.Can(migMode)
	if callable {
		mode, pending, ret := dev.handle.GetMigMode()
		code := library.Code(ret)
		if dev.OK(migMode, code) {
			dev.migModes = migModes{mode, pending, true}
			p.modeRead = true
			if mode != library.MIGEnabled {
				dev.cache.values[migMode] = keptValue{}
			}
			return mode == library.MIGEnabled
		}
		if code.Answer() == library.Unsupported {
			return false
		}
	}
	if !p.modeRead && (callable || dev.Supported(migMode)) {
		p.modeRead = p.anyInstance(dev)
		return p.modeRead
	}
	return dev.mig
}

// anyInstance reports whether there is an instance, which shows that MIG is on if nothing else does.
func (p *partitions) anyInstance(dev *device) bool {
	for i := range p.indexes(dev) {
		if !dev.Can(library.MIGHandle) {
			break
		}
		if _, code := dev.handle.MIG(i); code == library.OK {
			return true
		}
	}
	return false
}

// indexes is how many indexes of instances there are; while that cannot be read, as many as are known to be used.
func (p *partitions) indexes(dev *device) int {
	if !p.limit.Known() && dev.Can(migMax) {
		if n, ret := dev.handle.GetMaxMigDeviceCount(); dev.OK(migMax, library.Code(ret)) {
			p.limit = gpu.Some(min(n, maxInstances))
		}
	}
	n, known := p.limit.Get()
	for _, i := range p.instances {
		if !known {
			n = max(n, i.index+1)
		}
	}
	return n
}

// list enumerates the instances, and reports whether they are others than before.
func (p *partitions) list(dev *device, parent *Identity) (changed bool) {
	n := p.indexes(dev)
	failing := false
	instances := make([]*instance, 0, n)
	for i := range n {
		if !dev.Can(library.MIGHandle) {
			break
		}
		if inst := p.find(dev, parent, i); inst != nil && !slices.Contains(instances, inst) {
			instances = append(instances, inst)
			changed = changed || !slices.Contains(p.instances, inst)
		}
		failing = failing || p.retries[i].Failing()
	}
	if dev.Fatal != library.OK {
		return false
	}
	if failing {
		instances = p.addUnread(instances)
	} else if dev.Can(library.MIGHandle) {
		dev.OK(library.MIGHandle, library.OK)
	}
	if !changed && len(instances) == len(p.instances) {
		return false
	}
	markAlone(instances)
	p.keep(instances)
	return true
}

// find returns the instance of an index: nil if it does not exist or cannot be read.
func (p *partitions) find(dev *device, parent *Identity, index int) *instance {
	retry := &p.retries[index]
	if !retry.Begin() {
		return nil
	}
	called := library.MIGHandle
	handle, code := dev.handle.MIG(index)
	var uuid string
	if code == library.OK {
		called = library.UUID
		uuid, code = handle.UUID()
	}
	switch answer := code.Answer(); {
	case answer == library.Answered:
		*retry = library.Retry{}
		return p.instance(dev, parent, handle, uuid, index)
	case answer == library.DeviceGone || answer == library.DriverGone:
		dev.Fatal = code
	case code == library.NotFound || code == library.InvalidArgument: // no instance, or not any more
		*retry = library.Retry{}
	case answer == library.Unsupported:
		*retry = library.Retry{}
		if called == library.MIGHandle {
			dev.OK(library.MIGHandle, code)
		}
	default:
		retry.RetrySoon() // the next call mostly succeeds
		if answer != library.NoValue {
			dev.OKAt(library.MIGHandle, index, called, code)
			dev.RetryNext(library.MIGHandle)
		}
	}
	return nil
}

// instance returns the known instance of a UUID, or a new one.
func (p *partitions) instance(dev *device, parent *Identity, handle library.Device, uuid string, index int) *instance {
	for _, known := range p.instances {
		if known.uuid == uuid {
			known.handle, known.index, known.unread = handle, index, false
			return known
		}
	}
	return newInstance(dev, parent, handle, uuid, index)
}

// addUnread adds the known instances that cannot be had at present to those that were found.
func (p *partitions) addUnread(instances []*instance) []*instance {
	for _, known := range p.instances {
		if p.retries[known.index].Failing() && !slices.Contains(instances, known) {
			known.unread = true
			instances = append(instances, known)
		}
	}
	slices.SortFunc(instances, func(x, y *instance) int { return cmp.Compare(x.index, y.index) })
	return instances
}

// markAlone finds out which instances share their GPU instance with none.
func markAlone(instances []*instance) {
	perGPUInstance := map[gpu.Opt[int]]int{}
	for _, i := range instances {
		perGPUInstance[i.identity.GPUInstance]++
	}
	for _, i := range instances {
		i.share(perGPUInstance[i.identity.GPUInstance] == 1)
	}
}

// keep releases the instances that are not among the given ones.
func (p *partitions) keep(stay []*instance) {
	for _, old := range p.instances {
		if !slices.Contains(stay, old) {
			old.gpm.free()
		}
	}
	if len(stay) == 0 && len(p.instances) == 0 {
		return
	}
	p.instances = stay
	p.publish()
}

// publish makes the identities of the instances known.
func (p *partitions) publish() {
	identities := make([]*Identity, len(p.instances))
	for i, inst := range p.instances {
		identities[i] = inst.identity
	}
	p.identities.Store(&identities)
}

// inherit passes on to the instances what they have of their GPU.
func (p *partitions) inherit(parent *Identity) {
	for _, i := range p.instances {
		i.inherit(parent)
	}
	if len(p.instances) > 0 {
		p.publish()
	}
}

// identify asks what is not known yet of an instance.
func (p *partitions) identify(i *instance, parent *Identity) {
	if len(i.identification.open) > 0 && i.identify(parent) {
		markAlone(p.instances)
		p.publish()
	}
}

// free gives back what the instances hold of a session.
func (p *partitions) free() {
	for _, i := range p.instances {
		i.gpm.free()
	}
}
