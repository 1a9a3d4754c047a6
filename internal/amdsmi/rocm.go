// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// maxAttempts bounds how often a tool is started again in one read because it did not know an option.
	maxAttempts = 3
	// forgetAfter is the number of reads for which a refusal is believed: the tool may have been replaced by a newer one.
	forgetAfter = 120
)

// ROCm reads GPUs with rocm-smi.
type ROCm struct {
	runner command.Runner
	want   gpu.Group
	now    func() time.Time

	refused map[string]bool // options that this version does not know
	reads   int             // since refused was last emptied
	known   knownGPUs
	energy  accumulators
	retry   retry
	node    gpu.Node
}

var _ gpu.Source = (*ROCm)(nil)

// NewROCm returns a source that reads what belongs to the wanted groups. A configured path is the runner's business.
func NewROCm(_ *ROCmConfig, runner command.Runner, want gpu.Group, opts ...Option) *ROCm {
	s := &ROCm{
		runner:  runner,
		want:    want,
		now:     time.Now,
		refused: make(map[string]bool),
		known:   newKnownGPUs(command.ROCmSMI),
		energy:  make(accumulators),
	}
	for _, opt := range opts {
		opt(&s.now)
	}
	return s
}

// Close implements gpu.Source. There is nothing to release.
func (*ROCm) Close() error { return nil }

// Read implements gpu.Source. An error means that rocm-smi could not be run or did not end in time and no GPU is known, or
// that it printed nothing that can be read.
func (s *ROCm) Read(ctx context.Context) (*gpu.Node, error) {
	s.node = gpu.Node{Vendor: gpu.AMD, Time: s.now()}
	if !s.retry.Due(s.node.Time) {
		return s.nothing(), nil
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
	s.retry = retry{}
	if out.err != nil {
		s.problem(gpu.ProblemQuantity, "output", fmt.Errorf("rocm-smi, exit code %d: %w; the cards before that were read", out.exitCode, out.err))
	}
	if err != nil {
		s.problem(gpu.ProblemProcesses, "processes and errors", err)
	}
	s.fill(out, tables)
	return &s.node, nil
}

// run starts rocm-smi, again without the options that this version does not know. The error is the runner's; what was read
// before it is returned.
func (s *ROCm) run(ctx context.Context) (out *rocmOutput, tables *rocmTables, err error) {
	wanted := true // the JSON, until it was read
	for attempt := 1; ; attempt++ {
		var commands []command.Command
		if wanted {
			args := append([]string{"--json"}, arguments(rocmJSONFlags, s.want, s.refused)...)
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		if args := arguments(rocmTextFlags, s.want, s.refused); args != nil {
			commands = append(commands, command.Command{Tool: command.ROCmSMI, Args: args})
		}
		var results []command.Result
		if len(commands) > 0 {
			results, err = s.runner.Run(ctx, commands...)
		}
		again := false
		if wanted && len(results) > 0 {
			r := &results[0]
			out = rocmOutputOf(r)
			wanted = errors.Is(out.err, errNotJSON) && refuse(rocmJSONFlags, r.Stderr, s.refused)
			again = wanted
			results = results[1:]
		}
		if len(results) > 0 {
			r := &results[0]
			text, _ := r.Lines()
			t := parseROCmTables(text)
			tables = &t
			again = !t.complete && s.lessText(r) || again
		}
		if wanted && err != nil {
			return nil, tables, err // the refusal is not why there is no card
		}
		if err != nil || !again || attempt == maxAttempts {
			return out, tables, err
		}
	}
}

// lessText notes what to leave out of the call for text, which did not come to its end.
func (s *ROCm) lessText(r *command.Result) bool {
	if refuse(rocmTextFlags, r.Stderr, s.refused) {
		return true
	}
	if r.ExitCode == 0 || s.refused[flagRAS] || !s.want.Has(gpu.GroupECC) {
		return false
	}
	s.refused[flagRAS] = true
	return true
}

// notRun returns what is known when rocm-smi could not be run or did not end.
func (s *ROCm) notRun(err error) (*gpu.Node, error) {
	if err == nil {
		err = errors.New("no result")
	}
	return s.known.notRun(&s.node, fmt.Errorf("rocm_smi: %w", err))
}

// noCards returns what is known when rocm-smi ended without a card.
func (s *ROCm) noCards(out *rocmOutput) (*gpu.Node, error) {
	err := fmt.Errorf("rocm-smi: %w", out.failure)
	absent := errors.Is(err, errNoDriver) || errors.Is(err, errNoDevice)
	if !absent && !errors.Is(err, errAccess) {
		return nil, fmt.Errorf("rocm_smi: %w", err)
	}
	s.retry.failed(s.node.Time, err, absent)
	return s.nothing(), nil
}

// nothing returns a node without devices that can be read.
func (s *ROCm) nothing() *gpu.Node {
	s.problem(gpu.ProblemSource, "rocm-smi", s.retry.reason)
	s.energy.missed(s.node.Time)
	return s.known.noDevices(&s.node, s.retry.reason, s.retry.absent)
}

// fill makes the node of the cards.
func (s *ROCm) fill(out *rocmOutput, tables *rocmTables) {
	if tables == nil {
		tables = &rocmTables{}
	}
	complete := out.err == nil
	driver := label(out.system["Driver version"])
	entries := make([]entry, 0, len(out.cards))
	for i := range out.cards {
		e := out.cards[i].entry(driver)
		if e.unique == "" && e.address == (address{}) {
			complete = false
			s.problem(gpu.ProblemQuantity, "identity", fmt.Errorf("rocm-smi shows neither a unique id nor a PCI address of card%d: it is left out", e.index))
			continue
		}
		e.device.Errors = append(e.device.Errors, tables.errors[e.index]...)
		entries = append(entries, e)
	}
	s.known.ids.complete(entries, complete)
	leaves := s.known.list(&s.node, gpusOf(entries))
	s.energy.unwrap(s.node.Devices, s.node.Time)
	s.energy.missed(s.node.Time)
	if out.lowPower {
		s.problem(gpu.ProblemQuantity, "low power", errors.New("a GPU is asleep, and rocm-smi shows no temperatures, power and clocks of it"))
	}
	if s.want.Has(gpu.GroupECC) && s.refused[flagRAS] {
		s.problem(gpu.ProblemQuantity, "errors", errors.New("this rocm-smi does not tell the RAS counts, or aborts when it reads them"))
	}
	last := len(entries) - 1
	// Where the list ended early, partitions of the last GPU may be missing in it; without a mode it is not known whether it is divided.
	doubtful := out.err != nil && last >= 0 && entries[last].profile == "" && !leaves[entries[last].index].at.Partition.Known()
	if doubtful {
		delete(leaves, entries[last].index)
	}
	s.processes(out, tables, leaves)
	for i := range s.node.Devices {
		if d := &s.node.Devices[i]; doubtful && d.Index == entries[last].device.Index {
			d.ProcessesUnread = true
		}
	}
	if complete {
		s.known.addLost(&s.node)
	}
}

// processes adds the processes to the node.
func (s *ROCm) processes(out *rocmOutput, tables *rocmTables, leaves map[int]leaf) {
	list := tables.processes
	if len(list) == 0 || !tables.processesRead {
		list = out.processes()
	}
	var unplaced int
	s.node.Processes, unplaced = tables.place(list, leaves)
	if unplaced > 0 {
		s.problem(gpu.ProblemProcesses, "processes", fmt.Errorf("rocm-smi does not tell which GPUs %d processes use: they are left out", unplaced))
	}
	unread := !s.want.Has(gpu.GroupProcesses) || !tables.cardsRead && len(s.node.Processes) == 0 || unplaced > 0
	for i := range s.node.Devices {
		s.node.Devices[i].ProcessesUnread = unread
	}
}

func (s *ROCm) problem(kind gpu.ProblemKind, what string, err error) {
	s.node.Problems = append(s.node.Problems, gpu.Problem{Kind: kind, What: what, Err: fmt.Errorf("rocm_smi: %w", err)})
}
