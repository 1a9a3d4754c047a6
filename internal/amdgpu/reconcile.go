// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/device"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// reconcile creates a reader for each GPU that the scan found, and forgets GPUs that were bound to another driver, which is not a loss.
func (s *Source) reconcile() {
	inv := s.scanner.last
	s.forgetReaders(func(r *reader) bool {
		if inv.Card(r.address) != nil {
			return false
		}
		known := s.known.Find("", r.address)
		if known != nil && inv.Functions.Foreign(r.address, scan.DriverName) {
			s.known.Forget(known)
			known = nil
		}
		return known == nil
	})
	for i := range inv.Cards {
		s.addReader(inv.Cards[i].Address)
	}
}

func (s *Source) addReader(address string) {
	i, found := slices.BinarySearchFunc(s.readers, address, func(r *reader, a string) int { return cmp.Compare(r.address, a) })
	if found {
		return
	}
	g := device.New(device.Config{
		Root: s.cfg.RootPath, Want: s.want, Wake: s.cfg.WakeDevices, Decoder: s.decoder, Epoch: s.epoch,
	})
	s.readers = slices.Insert(s.readers, i, &reader{address: address, task: s.pool.NewTask(nil), gpu: g})
}

// forgetReaders forgets readers. What is found at their addresses later counts from a later epoch on.
func (s *Source) forgetReaders(which func(*reader) bool) {
	s.readers = slices.DeleteFunc(s.readers, func(r *reader) bool {
		forget := which(r)
		if forget {
			s.epoch = max(s.epoch, r.epoch+1)
		}
		return forget
	})
}

// readJobs returns the reads of the GPUs that the scan found, but for those that were read since.
func (s *Source) readJobs(now time.Time) []workers.Job {
	var jobs []workers.Job
	version, versionErr := s.scanner.driverVersion()
	for _, r := range s.readers {
		card := s.scanner.last.Card(r.address)
		if card == nil || r.read() {
			continue
		}
		r.queued = true
		input := device.Input{
			Card: *card, Nodes: s.scanner.last.NodesOf(r.address), Stale: s.scanner.stale, Now: now, ReadFile: s.readFile,
			DriverVersion: version, DriverVersionErr: versionErr, Names: s.scanner.names.last,
		}
		jobs = append(jobs, workers.Job{Task: r.task, Func: func() { r.result = r.gpu.Read(input) }})
	}
	return jobs
}

// misplaced reports whether a card was not at the place that the scan found.
func (s *Source) misplaced() bool {
	return slices.ContainsFunc(s.readers, func(r *reader) bool { return r.done() && r.result.Gone })
}

// fileLimit returns why no part of the read is reliable, if this process may open no further file.
func (s *Source) fileLimit() error {
	for _, r := range s.readers {
		if r.done() && r.result.FileLimit != nil {
			return r.result.FileLimit
		}
	}
	return nil
}
