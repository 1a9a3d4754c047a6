// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/pci"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

var (
	errHung     = errors.New("amdgpu: a read of the driver's files has not returned")
	errLate     = errors.New("amdgpu: the read timed out before any GPU was read; raise timeout or collection_interval")
	errReloaded = errors.New("amdgpu: the driver is being unloaded or loaded again")
)

// noDriver returns that the driver is not loaded, with a GPU of the PCI bus that it is missing for.
func (s *Source) noDriver() error {
	err := fmt.Errorf("amdgpu: %s: the amdgpu driver is not loaded; if this machine has AMD GPUs, load it; if the"+
		" collector runs in a container, mount the machine's /sys or set root_path", filepath.Join(s.cfg.RootPath, "sys/module", scan.DriverName))
	bus := s.scanner.last.Functions
	missing := slices.DeleteFunc(slices.Clone(bus), func(f pci.Function) bool { return bus.Foreign(f.Address, scan.DriverName) })
	return missing.Locate(gpu.AMD, err)
}

// failure returns why no GPU of the node was read; nil if one was read, and if there is no GPU to read.
func (s *Source) failure(node *gpu.Node) *gpu.Failure {
	if slices.ContainsFunc(s.readers, func(r *reader) bool { return r.read() && r.result.Denied == nil }) {
		return nil
	}
	inv := s.scanner.last
	for _, r := range s.readers {
		if inv.Card(r.address) == nil {
			continue
		}
		switch outcome := r.task.Outcome(); {
		case outcome == workers.Hung:
			return &gpu.Failure{Reason: gpu.FailureTimeout, Err: errHung}
		case outcome == workers.NotBegun, outcome == workers.Late:
			return &gpu.Failure{Reason: gpu.FailureTimeout, Err: errLate}
		case r.result.Denied != nil:
			return &gpu.Failure{Reason: gpu.FailurePermission, Err: r.result.Denied}
		default:
			return &gpu.Failure{Reason: gpu.FailureDriver, Err: errReloaded}
		}
	}
	missing, _ := node.Presence[gpu.Missing].Get()
	switch {
	case inv.CardsErr != nil:
		return gpu.FailureOf(inv.CardsErr)
	case !inv.DriverLoaded && (missing > 0 || !inv.BusKnown && len(node.Devices) > 0):
		return &gpu.Failure{Reason: gpu.FailureDriver, Err: s.noDriver()}
	}
	return nil
}
