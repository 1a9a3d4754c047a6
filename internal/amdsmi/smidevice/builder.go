// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Builder makes the node of each read of a tool, and keeps what later reads need for it.
type Builder struct {
	Node   gpu.Node // of this read
	Energy EnergyCounters

	tool   command.Tool
	known  KnownGPUs
	reason error // why the last start found nothing; nil if it found something
	retry  backoff.Backoff
}

// retryPolicy spaces out the starts of a tool that finds nothing: a Python program costs too much to run at every interval for that.
var retryPolicy = backoff.Policy{First: time.Minute, Max: 5 * time.Minute, Free: 1}

// NewBuilder returns the Builder of a source that has read nothing.
func NewBuilder(tool command.Tool) Builder {
	return Builder{Energy: make(EnergyCounters), tool: tool, known: NewKnownGPUs(tool)}
}

// Begin begins a read. It returns the node of this read if the tool is not started because it found nothing the last time; nil otherwise.
func (b *Builder) Begin(now time.Time) *gpu.Node {
	b.Node = gpu.Node{Vendor: gpu.AMD, Time: now}
	if b.retry.Due(now) {
		return nil
	}
	return b.noGPUs(b.reason)
}

// Found ends the pauses after starts that found nothing.
func (b *Builder) Found() { b.reason, b.retry = nil, backoff.Backoff{} }

// Problem adds a problem to the node.
func (b *Builder) Problem(kind gpu.ProblemKind, subject string, err error) {
	b.Node.Problems = append(b.Node.Problems, gpu.Problem{Kind: kind, What: subject, Err: b.named(err)})
}

// named returns an error that names the scraper, such as amd_smi.
func (b *Builder) named(err error) error {
	return fmt.Errorf("%s: %w", strings.ReplaceAll(string(b.tool), "-", "_"), err)
}

// List puts the listed devices into the node. It returns the devices on which processes run, by the tool's number. complete: the devices are
// all that there are.
func (b *Builder) List(listed []Listed, complete bool) (leaves map[int]Leaf) {
	b.known.IDs.Complete(listed, complete)
	leaves = b.known.List(&b.Node, GPUs(listed))
	b.Energy.Unwrap(b.Node.Devices, b.Node.Time)
	b.Energy.Missed(b.Node.Time)
	return leaves
}

// AddUnlisted adds GPUs of earlier reads that the list lacks. If the list is complete, they are lost.
func (b *Builder) AddUnlisted(complete bool) {
	if complete {
		b.known.AddLost(&b.Node)
	} else {
		b.known.AddUnlisted(&b.Node)
	}
}

// NotRun returns the node of the known GPUs if the tool could not be run or did not end.
func (b *Builder) NotRun(err error) (*gpu.Node, error) {
	if err == nil {
		err = errors.New("no result")
	}
	return b.known.NotRun(&b.Node, b.named(err))
}

// NotListed returns the node of the known GPUs if the tool ended without a GPU that can be identified.
func (b *Builder) NotListed(err error) (*gpu.Node, error) {
	return b.known.NotListed(&b.Node, b.named(err))
}

// NoDevices returns the node of the known GPUs if the tool ended without a device. The tool is started less often if no driver, no GPU or no
// permission is the reason.
func (b *Builder) NoDevices(err error) (*gpu.Node, error) {
	if !absent(err) && !errors.Is(err, smitext.ErrAccess) {
		return b.NotListed(err)
	}
	b.reason = err
	b.retry.Failed(b.Node.Time, retryPolicy)
	return b.noGPUs(err), nil
}

// Resting reports whether the last start found nothing, and later ones are spaced out.
func (b *Builder) Resting() bool { return b.reason != nil }

// absent reports whether the driver or its GPUs are known not to be there.
func absent(reason error) bool {
	return errors.Is(reason, smitext.ErrNoDriver) || errors.Is(reason, smitext.ErrNoDevice)
}

// noGPUs returns a node in which no GPU is readable.
func (b *Builder) noGPUs(reason error) *gpu.Node {
	b.Problem(gpu.ProblemSource, string(b.tool), reason)
	b.Energy.Missed(b.Node.Time)
	return b.known.NoDevices(&b.Node, reason, absent(reason))
}

// SortProcesses sorts processes by PID and device.
func SortProcesses(processes []gpu.Process) {
	slices.SortFunc(processes, func(a, b gpu.Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.DeviceID, b.DeviceID), a.Location.Compare(b.Location))
	})
}
