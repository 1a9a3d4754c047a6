// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// maxAttempts bounds how often a read starts the tool because it did not know an option.
	maxAttempts = 3
	// forgetAfter is the number of reads after which a refused option is tried again: the tool may have been replaced by a newer one.
	forgetAfter = 120
)

// Source reads GPUs with rocm-smi.
type Source struct {
	runner command.Runner
	want   gpu.Group
	now    func() time.Time

	refused map[string]bool // options that this version does not know
	reads   int             // since refused was last emptied
	known   smidevice.KnownGPUs
	energy  smidevice.EnergyCounters
	retry   smidevice.Retry
	node    gpu.Node
}

var _ gpu.Source = (*Source)(nil)

// New returns a source that reads the quantities of the wanted groups. The runner knows the configured path.
func New(_ *Config, runner command.Runner, want gpu.Group, opts ...Option) *Source {
	s := &Source{
		runner:  runner,
		want:    want,
		now:     time.Now,
		refused: make(map[string]bool),
		known:   smidevice.NewKnownGPUs(command.ROCmSMI),
		energy:  make(smidevice.EnergyCounters),
	}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Close implements gpu.Source. There is nothing to release.
func (*Source) Close() error { return nil }

// Read implements gpu.Source. An error means that no GPU is known and rocm-smi could not be run or did not end in time, or that it
// printed nothing that can be read.
func (s *Source) Read(ctx context.Context) (*gpu.Node, error) {
	s.node = gpu.Node{Vendor: gpu.AMD, Time: s.now()}
	if !s.retry.Due(s.node.Time) {
		return s.noGPUs(), nil
	}
	if s.reads++; s.reads > forgetAfter {
		s.reads = 0
		clear(s.refused)
	}
	out, tables, err := s.run(ctx)
	if out == nil {
		return s.notRun(err)
	}
	if len(out.cards) == 0 {
		return s.noCards(out)
	}
	s.retry = smidevice.Retry{}
	if out.err != nil {
		s.problem(gpu.ProblemQuantity, "output", fmt.Errorf("rocm-smi, exit code %d: %w; the cards before that were read", out.exitCode, out.err))
	}
	if err != nil {
		s.problem(gpu.ProblemProcesses, "processes and errors", err)
	}
	s.fill(out, tables)
	return &s.node, nil
}

// Reset makes the source find out again what its tool can do. The tool may be of another version, as in another container. The known GPUs
// are kept: one that is no longer listed is lost, whoever lists them.
func (s *Source) Reset() {
	clear(s.refused)
	s.reads, s.retry = 0, smidevice.Retry{}
}

// notRun returns the node of the known GPUs when rocm-smi could not be run or did not end.
func (s *Source) notRun(err error) (*gpu.Node, error) {
	if err == nil {
		err = errors.New("no result")
	}
	return s.known.NotRun(&s.node, fmt.Errorf("rocm_smi: %w", err))
}

// noCards returns the node of the known GPUs when rocm-smi ended without a card.
func (s *Source) noCards(out *output) (*gpu.Node, error) {
	err := fmt.Errorf("rocm-smi: %w", out.failure)
	absent := errors.Is(err, smitext.ErrNoDriver) || errors.Is(err, smitext.ErrNoDevice)
	if !absent && !errors.Is(err, smitext.ErrAccess) {
		return nil, fmt.Errorf("rocm_smi: %w", err)
	}
	s.retry.Failed(s.node.Time, err, absent)
	return s.noGPUs(), nil
}

// noGPUs returns a node in which no GPU is readable.
func (s *Source) noGPUs() *gpu.Node {
	s.problem(gpu.ProblemSource, "rocm-smi", s.retry.Reason)
	s.energy.Missed(s.node.Time)
	return s.known.NoDevices(&s.node, s.retry.Reason, s.retry.Absent)
}

func (s *Source) problem(kind gpu.ProblemKind, what string, err error) {
	s.node.Problems = append(s.node.Problems, gpu.Problem{Kind: kind, What: what, Err: fmt.Errorf("rocm_smi: %w", err)})
}
