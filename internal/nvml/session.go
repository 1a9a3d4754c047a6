// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"sync/atomic"
	"time"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// maxGPUs bounds how many GPUs a driver may report.
const maxGPUs = 256

// session is the time between nvmlInit and nvmlShutdown.
type session struct {
	lib     *library.Library
	driver  string // its version; empty: not known
	handles []*handle
	events  *events       // nil: not wanted, or not possible
	task    *workers.Task // of calls that concern no single GPU
	count   atomic.Int64  // of GPUs, as NVML counts them now
}

// openSession initialises NVML and counts the GPUs.
func openSession(lib *library.Library, pool *workers.Pool, gpus *knownGPUs, events func(*library.Library) *events) (*session, library.Code) {
	if code := lib.Init(); code != library.OK {
		return nil, code
	}
	s := &session{lib: lib, task: pool.NewTask(nil)}
	if version, code := lib.DriverVersion(); code == library.OK {
		s.driver = version
	}
	n, code := lib.DeviceCount()
	if code != library.OK {
		lib.Shutdown()
		return nil, code
	}
	s.events = events(lib)
	number := gpus.newSession()
	for i := range min(n, maxGPUs) {
		s.handles = append(s.handles, &handle{
			finder: finder{number, i}, lib: lib, driver: s.driver, events: s.events, gpus: gpus, task: pool.NewTask(nil),
		})
	}
	s.count.Store(int64(len(s.handles)))
	return s, library.OK
}

// look counts the GPUs, and takes what has happened to them.
func (s *session) look(now time.Time) {
	defer func() { _ = recover() }() // of the binding
	if n, code := s.lib.DeviceCount(); code == library.OK {
		s.count.Store(int64(min(n, maxGPUs)))
	}
	s.events.take(now)
}

// takeEvents takes what has happened to the GPUs.
func (s *session) takeEvents(now time.Time) {
	defer func() { _ = recover() }() // of the binding
	s.events.take(now)
}

// outdated reports whether NVML counts other GPUs than at the start of the session.
func (s *session) outdated() bool { return s.count.Load() != int64(len(s.handles)) }

// close shuts NVML down. No call of the session may be outstanding.
func (s *session) close() {
	if s.events != nil {
		s.takeEvents(s.events.now()) // those since the last question would be lost
	}
	for _, h := range s.handles {
		if g := h.gpu.Load(); g != nil {
			g.Close()
		}
	}
	s.events.free()
	s.lib.Shutdown()
}

// sampleRing is the shortest time that the samples of a GPU cover, of those on which no call is outstanding; 0: not known.
func (s *session) sampleRing() (shortest time.Duration) {
	for _, h := range s.handles {
		g := h.gpu.Load()
		if g == nil || h.task.Outcome() != workers.Done {
			continue
		}
		if ring := g.SampleRing(); ring > 0 && (shortest == 0 || ring < shortest) {
			shortest = ring
		}
	}
	return shortest
}

// jobs returns the jobs of a read, or of the fetching of samples between reads: one for each of these handles, and one for the session.
func (s *session) jobs(now time.Time, handles []*handle, work func(*handle, time.Time)) []workers.Job {
	jobs := []workers.Job{{Task: s.task, Func: func() { s.look(now) }}}
	for _, h := range handles {
		jobs = append(jobs, workers.Job{Task: h.task, Func: func() { work(h, now) }})
	}
	return jobs
}
