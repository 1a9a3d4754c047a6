// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"context"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Source reads GPUs with rocm-smi.
type Source struct {
	tool  tool
	build nodeBuilder
	now   func() time.Time
}

var _ gpu.Source = (*Source)(nil)

// Option changes how a source works.
type Option func(*Source)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(s *Source) { s.now = now } }

// New returns a source that reads the quantities of the wanted groups. The runner knows the configured path.
func New(_ *Config, runner command.Runner, want gpu.Group, opts ...Option) *Source {
	s := &Source{
		tool:  tool{runner: runner, want: want, refused: make(map[string]bool)},
		build: nodeBuilder{Builder: smidevice.NewBuilder(command.ROCmSMI), want: want}, now: time.Now,
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Close implements gpu.Source. There is nothing to release.
func (*Source) Close() error { return nil }

// Read implements gpu.Source. An error means that the machine could not be reached, or that no GPU is known and rocm-smi did not end in
// time or printed nothing that can be read.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	if node := s.build.Begin(s.now()); node != nil {
		return node, nil
	}
	out, tables, err := s.tool.run(ctx)
	if out == nil {
		return s.build.NotRun(err)
	}
	if len(out.cards) == 0 {
		return s.build.NoDevices(fmt.Errorf("rocm-smi: %w", out.failure))
	}
	s.build.Found()
	if out.err != nil {
		s.build.Problem(gpu.ProblemQuantity, "output", fmt.Errorf("rocm-smi, exit code %d: %w; the cards before that were read", out.exitCode, out.err))
	}
	if err != nil {
		s.build.Problem(gpu.ProblemProcesses, "processes and errors", err)
	}
	return s.build.fill(out, tables, s.tool.refused)
}

// Reset makes the source find out again what its tool can do. The tool may be of another version, as in another container. The known GPUs
// are kept: one that is no longer listed is lost, in every version.
func (s *Source) Reset() {
	s.tool.forget()
	s.build.Found()
}
