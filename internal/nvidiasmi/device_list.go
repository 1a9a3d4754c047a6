// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// deviceListAge is how long a device list with MIG devices holds although the layout looks the same: a MIG device may have been
// destroyed and created again in between.
const deviceListAge = 10 * time.Minute

// deviceList is what -L and a table of identityColumns print and XML does not.
type deviceList struct {
	layout       string // the layout for which it holds
	readTime     time.Time
	index        map[string]int                     // by UUID
	mig          map[string][]parse.ListedMIGDevice // by the GPU's UUID
	capabilities map[string]string                  // compute capability by UUID
}

// known reports whether the list was read.
func (l *deviceList) known() bool { return l.index != nil }

// take takes the list from the outputs of -L and of the table of identities, which may be nil, for a listing. It returns false and keeps
// the last list if -L does not list everything, because MIG devices are identified by their order, or lists nothing although there are
// GPUs.
func (l *deviceList) take(listing *parse.Listing, list, identities *command.Result, now time.Time) bool {
	lines, whole := list.Lines()
	if !whole {
		return false
	}
	layout, _ := layoutOf(listing)
	result := deviceList{layout: layout, readTime: now, index: map[string]int{}, mig: map[string][]parse.ListedMIGDevice{}, capabilities: map[string]string{}}
	for _, g := range parse.DeviceList(lines) {
		result.index[g.UUID] = g.Index
		result.mig[g.UUID] = g.MIGDevices
	}
	if len(result.index) == 0 && len(listing.GPUs) > 0 {
		return false
	}
	if identities != nil {
		lines, _ = identities.Lines()
		table, _ := parse.QueryGPU(lines, identityColumns())
		for i := range table.GPUs {
			d := &table.GPUs[i].Device
			result.capabilities[d.ID] = d.Info.ComputeCapability
		}
	}
	*l = result
	return true
}

// refresh reads the list again if the layout has changed. A failure is a problem and not a failure of the read: the GPUs were read.
func (l *deviceList) refresh(ctx context.Context, runner command.Runner, gpus []int, out *output, now time.Time) {
	layout, mig := layoutOf(out.listing)
	expired := mig && now.Sub(l.readTime) >= deviceListAge
	if layout == l.layout && !expired {
		return
	}
	var b batch
	b.add(forList, queryList())
	b.add(forIdentity, queryIdentity(gpus))
	res := b.run(ctx, runner)
	list, _ := res.find(forList)
	identities, _ := res.find(forIdentity)
	if list != nil && l.take(out.listing, list, identities, now) {
		return
	}
	if layout != l.layout {
		*l = deviceList{} // the list of another layout would identify the wrong devices
	}
	err := res.err
	if list != nil {
		err = fmt.Errorf("the output lists no GPU or is incomplete: %s", cmp.Or(diagnose(list).Message, "exit code 0"))
	}
	out.problem(gpu.ProblemQuantity, "", "MIG devices", fmt.Errorf("nvidia-smi -L: the UUIDs of MIG devices and the indices of GPUs are unknown: %w", err))
}

// migDevice returns the list's entry for the i-th MIG device of a GPU. -L counts MIG devices, while the index in XML, which is NVML's, may
// omit numbers; both are in NVML's order. If the two list different numbers of devices, the order does not identify them: a device is then
// the one that had the same instances before.
func (l *deviceList) migDevice(g *parse.GPU, i int, before []gpu.Device) parse.ListedMIGDevice {
	listed := l.mig[g.Device.ID]
	switch m := &g.MIGDevices[i]; {
	case len(listed) == len(g.MIGDevices):
		return listed[i]
	case listed == nil || !m.GI.Known() || !m.CI.Known():
	default:
		for _, d := range before {
			if d.GPUInstance == asInt(m.GI) && d.ComputeInstance == asInt(m.CI) {
				return parse.ListedMIGDevice{UUID: d.ID, Profile: d.Info.Profile}
			}
		}
	}
	return parse.ListedMIGDevice{}
}

// layoutOf returns a text that changes with the driver, the GPUs and their MIG devices, and whether there is a MIG device.
func layoutOf(listing *parse.Listing) (layout string, mig bool) {
	var b strings.Builder
	b.WriteString(listing.DriverVersion)
	for i := range listing.GPUs {
		g := &listing.GPUs[i]
		b.WriteString("|" + g.Device.ID)
		for _, m := range g.MIGDevices {
			mig = true
			memory, _ := m.Memory.Limit.Get()
			fmt.Fprintf(&b, ";%s.%s.%s.%d", number(m.Index), number(m.GI), number(m.CI), memory)
		}
	}
	return b.String(), mig
}

// number formats a number for a name. An absent one is a dash.
func number(o gpu.Opt[int64]) string {
	if v, ok := o.Get(); ok {
		return strconv.FormatInt(v, 10)
	}
	return "-"
}

func asInt(o gpu.Opt[int64]) gpu.Opt[int] {
	if v, ok := o.Get(); ok {
		return gpu.Some(int(v))
	}
	return gpu.Opt[int]{}
}
