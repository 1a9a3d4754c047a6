// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// staticEvery is the number of reads after which names, versions and limits are read again, which hardly change. They are read
	// immediately when the list of devices changes.
	staticEvery = 10
	// maxTimeouts is how often in a row the PCIe call may fail to end in time before restPCIe reads leave it out. It is tried again
	// then, since the driver may have hung for a while, and not this call.
	maxTimeouts = 2
	restPCIe    = 120
)

// Source reads GPUs with amd-smi.
type Source struct {
	tool  tool
	build nodeBuilder
	now   func() time.Time

	timeouts    int // of the PCIe call, in a row
	withoutPCIe int // reads without the PCIe call
	reads       int // since static was read
	listed      []listRecord
	static      map[int]staticInfo
	stale       bool   // static could not be read again, and is tried again at the next read
	version     string // of amd-smi's library
}

var _ gpu.Source = (*Source)(nil)

// Option changes how a source works.
type Option func(*Source)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(s *Source) { s.now = now } }

// New returns a source that reads the quantities of the wanted groups. The runner knows the configured path.
func New(_ *Config, runner command.Runner, want gpu.Group, opts ...Option) *Source {
	s := &Source{tool: newTool(runner, want), build: nodeBuilder{Builder: smidevice.NewBuilder(command.AMDSMI), want: want}, now: time.Now}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Close implements gpu.Source. There is nothing to release.
func (*Source) Close() error { return nil }

// Read implements gpu.Source. An error means that the machine could not be reached, or that no GPU is known and amd-smi did not end in
// time or printed nothing that can be read.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	if node := s.build.Begin(s.now()); node != nil {
		return node, nil
	}
	due := s.static == nil || s.stale || s.reads >= staticEvery
	if due {
		s.tool.retryTemporary()
	}
	steps := s.steps(due)
	answers, err := s.tool.run(ctx, steps...)
	if len(answers) == 0 {
		return s.build.NotRun(err)
	}
	list := answers[stepList]
	listed := parseList(list.records)
	if len(listed) == 0 {
		if _, ran := answers[stepList]; !ran {
			return s.build.NotRun(err)
		}
		return s.noDevices(list.err)
	}
	s.build.Found()
	_, measured := answers[stepMetric]
	unmeasured := err != nil && !measured && s.tool.runs(stepMetric)
	if unmeasured && !smidevice.TimedOut(err) {
		return s.build.NotRun(err)
	}
	changed := !slices.EqualFunc(listed, s.listed, func(a, b listRecord) bool { return a.same(&b) })
	if changed && !due && !unmeasured {
		again, _ := s.tool.run(ctx, stepStatic, stepBadPages)
		maps.Copy(answers, again)
		steps = append(steps, stepStatic, stepBadPages)
		due = true
	}
	if changed {
		s.static, s.stale = renumbered(s.static, s.listed, listed), true
	}
	s.listed = listed
	s.keep(due, answers)
	s.countTimeouts(answers, s.build.addProblems(&s.tool, steps, answers, err))
	identified := s.build.fill(listed, s.static, answers, major(s.version))
	switch {
	case unmeasured:
		return s.build.notMeasured(err)
	case !identified:
		return s.build.NotListed(fmt.Errorf("amd-smi list: %w; run it by hand", smitext.ErrNoIdentity))
	}
	if a := answers[stepMetric]; measured && a.err != nil && len(a.records) == 0 {
		s.build.metricFailed(gpu.FailureToolFailed, a.err)
	}
	return &s.build.Node, nil
}

// noDevices returns the node of the known GPUs when amd-smi ended without a device.
func (s *Source) noDevices(err error) (*gpu.Node, error) {
	if err == nil {
		err = smitext.NoDevice()
	}
	node, err := s.build.NoDevices(fmt.Errorf("amd-smi list: %w", err))
	if s.build.Resting() {
		s.static, s.listed = nil, nil
	}
	return node, err
}

// Reset makes the source find out again what its tool can do. The tool may be of another version, as in another container. The known GPUs
// are kept: one that is no longer listed is lost, in every version.
func (s *Source) Reset() {
	s.tool.forget()
	s.build.Found()
	s.timeouts, s.version, s.listed, s.static, s.build.scale = 0, "", nil, nil, scaleUnknown
}

// steps returns the steps of this read.
func (s *Source) steps(due bool) []step {
	steps := []step{stepList}
	if due {
		steps = []step{stepVersion, stepList, stepStatic}
	}
	steps = append(steps, stepMetric, stepProcess, stepXGMI)
	if due {
		steps = append(steps, stepBadPages)
	}
	if s.timeouts >= maxTimeouts {
		if s.withoutPCIe++; s.withoutPCIe > restPCIe {
			s.withoutPCIe, s.timeouts = 0, maxTimeouts-1
		}
	}
	if s.timeouts < maxTimeouts {
		steps = append(steps, stepPCIe)
	}
	return steps
}

// countTimeouts counts how often in a row the PCIe call did not end in time.
func (s *Source) countTimeouts(answers map[step]answer, slowPCIe bool) {
	if _, ran := answers[stepPCIe]; ran {
		s.timeouts = 0
	}
	if slowPCIe {
		s.timeouts++
	}
}

// keep stores what is not read every time.
func (s *Source) keep(due bool, answers map[step]answer) {
	s.reads++
	if !due {
		return
	}
	s.reads = 0
	a, ran := answers[stepStatic]
	s.stale = !ran || a.err != nil && len(a.records) == 0
	if !s.stale {
		static := parseStatic(a.records)
		addBadPages(static, answers[stepBadPages].records)
		if a.err != nil {
			for n, before := range s.static {
				if _, read := static[n]; !read { // the output ended before it
					static[n] = before
				}
			}
		}
		s.static = static
	}
	if v := libraryVersion(answers[stepVersion].records); v != "" && v != s.version {
		if s.version != "" {
			clear(s.tool.refused) // amd-smi was replaced
			s.timeouts = 0
			s.build.scale = scaleUnknown
		}
		s.version = v
	}
}

// libraryVersion returns the version of the library, such as "25.5.1". Since ROCm 6.4 it is the tool's own version.
func libraryVersion(records []record) string {
	if len(records) == 0 {
		return ""
	}
	return smitext.Label(records[0].text("amdsmi_library_version", "version"))
}

// major returns the first number of a version; 0 if it is not known.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}
