// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// newNode assembles the node of a read from what the tool printed and the known GPUs.
func newNode(now time.Time, out *output, list *deviceList, known *knownGPUs) *gpu.Node {
	n := &gpu.Node{Vendor: gpu.NVIDIA, Time: now}
	known.begin(now, out.listing.DriverVersion)
	visible := 0
	for i := range out.listing.GPUs {
		g := &out.listing.GPUs[i]
		k := known.find(&g.Device)
		addSilent(g, k)
		if !g.Unreadable {
			visible++
		}
		known.complete(g, k)
		g.Device.ProcessesUnread = g.Unreadable || g.ResetRequired || !processesRead(out, g)
		devices := append([]gpu.Device{g.Device}, migDevices(g, k, list, out)...)
		known.record(k, devices, g)
		n.Devices = append(n.Devices, devices...)
		reportRefusals(g, out)
	}
	unidentified := addUnreachable(n, out.diagnosis.Unreachable, known)
	absent, _ := known.inventory.End()
	if out.listing.Complete {
		unidentified = addUnlisted(n, absent, unidentified, known.driver, out.advice)
		all := int64(len(known.inventory.All()) + len(unidentified))
		if attached, ok := out.listing.Attached.Get(); ok { // with GPUs that the tool omits without a message
			all = max(all, attached)
		}
		n.Presence[gpu.Visible] = gpu.Some(int64(visible))
		n.Presence[gpu.Missing] = gpu.Some(max(0, all-int64(visible)))
	} else {
		for _, k := range absent {
			k.AddUnreadTo(n) // it may have been cut off
		}
		if len(out.listing.GPUs) == 0 {
			n.Failure = &gpu.Failure{Reason: gpu.FailureToolFailed, Err: errNoGPU}
		}
	}
	addCorruptInfoROM(n, out)
	n.Processes = mergeProcesses(out)
	n.Problems = slices.Concat(out.problems, dropDuplicates(n), pmonProblems(out, n.Processes))
	return n
}

// addSilent adds the fault of a GPU for which the tool prints N/A in the place of every reading. A GPU on a PCI bus has a memory at least,
// unless it is a part of a processor, and a GPU that had readings before has lost them.
func addSilent(g *parse.GPU, k *knownGPU) {
	if !g.Silent || g.Device.Integrated() && (k == nil || !k.State.answered) {
		return
	}
	g.Unreadable, g.Device.Memory = true, gpu.Memory{} // some versions print that 0 MiB are used
	g.Device.AddFault(gpu.FaultUnreachable, "nvidia-smi prints N/A for all its values, as for a GPU that has fallen off the bus")
}

// addCorruptInfoROM adds the fault of the GPUs at the addresses of the tool's warnings, and a problem if no GPU that was read is there.
func addCorruptInfoROM(n *gpu.Node, out *output) {
	for _, address := range out.diagnosis.CorruptInfoROM {
		i := slices.IndexFunc(n.Devices, func(d gpu.Device) bool { return d.Parent == "" && !d.Unread && d.Info.PCIAddress == address })
		if i < 0 {
			out.problem(gpu.ProblemQuantity, "", "infoROM", fmt.Errorf("nvidia-smi: of the GPU at %s, which it does not list: %s", address, gpu.CorruptInfoROM))
			continue
		}
		n.Devices[i].AddFault(gpu.FaultInfoROM, gpu.CorruptInfoROM)
	}
}

// failedNode returns the node of a read that listed no GPU: the known GPUs with the fault, or unread if there is no fault.
func failedNode(now time.Time, f *failure, known *knownGPUs) *gpu.Node {
	n := &gpu.Node{Vendor: gpu.NVIDIA, Time: now, Problems: []gpu.Problem{{Kind: gpu.ProblemSource, What: "nvidia-smi", Err: f.error}}}
	if !f.answered {
		n.Failure = &gpu.Failure{Reason: f.reason, Err: f.error}
	}
	known.reloaded = known.reloaded || f.driverAway
	missing := known.inventory.All()
	fault, failed := f.fault.Get()
	if !failed {
		for _, k := range missing {
			k.AddUnreadTo(n)
		}
		n.Problems = append(n.Problems, dropDuplicates(n)...)
		return n
	}
	for _, k := range missing {
		k.AddTo(n, fault, f.Error())
	}
	n.Problems = append(n.Problems, dropDuplicates(n)...)
	n.Presence[gpu.Visible] = gpu.Some(int64(0))
	if len(missing) > 0 { // the tool cannot say whether there is a GPU that was never seen
		n.Presence[gpu.Missing] = gpu.Some(int64(len(missing)))
	}
	return n
}

var errNoGPU = errors.New("nvidia-smi: it fails for all GPUs, because one lacks a device handle")

// addUnreachable adds the GPUs for which the driver returned no device handle. It returns those that nothing identifies.
func addUnreachable(n *gpu.Node, unreachable []parse.Unreachable, known *knownGPUs) (unidentified []parse.Unreachable) {
	for _, u := range unreachable {
		switch k, unlisted := known.unreachable(u); {
		case k == nil:
			unidentified = append(unidentified, u)
		case unlisted:
			k.AddTo(n, u.Fault(), "no device handle: "+u.Reason)
		}
	}
	return unidentified
}

// addUnlisted adds the GPUs that were seen before and are not in a complete listing. That includes GPUs that were seen with
// another driver version: a GPU that does not come back after an update is missing. Unreachable GPUs that nothing identifies
// are taken to be among them; those that are left are returned.
func addUnlisted(n *gpu.Node, absent []*knownGPU, unidentified []parse.Unreachable, driver string, advice *advice) []parse.Unreachable {
	for _, k := range absent {
		k.State.unreadable = true
		fault, message := gpu.FaultUnreachable, "it was seen before, and nvidia-smi does not list it any more"
		if k.State.driver != driver && k.State.driver != "" {
			message = fmt.Sprintf("it was seen with driver %s, and driver %s does not list it: it failed during the change, was removed, or is "+
				"not supported any more; %s", k.State.driver, driver, advice.seeLog)
		}
		if len(unidentified) > 0 {
			fault, message = unidentified[0].Fault(), unidentified[0].Reason
			unidentified = unidentified[1:]
		}
		k.AddTo(n, fault, message)
	}
	return unidentified
}

// processesRead reports whether the output shows the processes of a GPU completely. XML and the table of processes do, and so does pmon,
// which has a row for an idle GPU. The table identifies a GPU by its ID only.
func processesRead(out *output, g *parse.GPU) bool {
	index, known := g.Device.Index.Get()
	if enabled, _ := g.MIGEnabled.Get(); enabled && out.migUnread {
		return false
	}
	return g.ProcessesRead || out.appsRead && g.Device.ID != "" || known && out.pmon.GPUs[int64(index)]
}

// maxQuantities is how many quantities a problem names.
const maxQuantities = 6

// reportRefusals adds one problem for each reason for which quantities of a GPU are refused. A failed GPU refuses all, and its
// fault says why.
func reportRefusals(g *parse.GPU, out *output) {
	if g.Device.State() == gpu.StateFailed {
		return
	}
	for i, refusal := range g.Refusals {
		same := func(r parse.Refusal) bool { return r.Reason == refusal.Reason }
		if slices.IndexFunc(g.Refusals, same) < i {
			continue // reported with the first one
		}
		var quantities []string
		for _, r := range g.Refusals {
			if same(r) {
				quantities = append(quantities, r.Quantity)
			}
		}
		if more := len(quantities) - maxQuantities; more > 0 {
			quantities = append(quantities[:maxQuantities], fmt.Sprintf("%d more", more))
		}
		list := strings.Join(quantities, ", ")
		remedy := out.advice.seeLog
		if refusal.NoPermission() {
			remedy = out.advice.refused
		}
		place := cmp.Or(g.Device.ID, g.Device.Info.PCIAddress)
		out.problem(gpu.ProblemQuantity, g.Device.ID, list, fmt.Errorf("nvidia-smi: %s: %s: %s; %s", place, list, refusal.Reason, remedy))
	}
}
