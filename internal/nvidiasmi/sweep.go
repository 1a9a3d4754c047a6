// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// sweep is what the commands of one read printed.
type sweep struct {
	log       *parse.Listing
	diagnosis parse.Diagnosis
	apps      []parse.Process // of --query-compute-apps
	appsRead  bool
	pmon      parse.PmonOutput
	// leftOut is why pmon leaves out some GPUs, where it says so: a GPU that is divided among virtual machines.
	leftOut string

	retryPmon bool // pmon said no on account of a GPU that is not well
	allLost   bool // not one GPU has a handle
}

// mostTries is how often one read may begin anew: for a selection of GPUs, for another, and for a query in full.
const mostTries = 4

// sweep reads by the configured query; what it finds of MIG makes it read in full, and a GPU without a handle makes it ask
// for the others by their indices.
func (r *Reader) sweep(ctx context.Context) (*sweep, *failure, error) {
	if len(r.selected) < len(r.selectedOf) && r.reselected.due(r.node.Time) {
		r.selected, r.selectedOf = nil, nil
	}
	for try := 1; ; try++ {
		r.node.Problems = nil // those of a try that counts for nothing
		read := r.full
		fast := r.fast && !r.mig && !r.fields.givenUp(r.node.Time)
		if fast {
			read = r.quick
		}
		s, failed, err := read(ctx)
		if err != nil || failed != nil {
			return nil, failed, err
		}
		last := try == mostTries
		switch {
		case s == nil && !last: // the selection was changed, or no field is taken
		case s == nil:
			return nil, nil, fmt.Errorf("nvidia-smi: the GPUs that can be reached changed %d times during one read", mostTries)
		case s.log == nil && !last && r.reselect(ctx, s):
		case s.log != nil && fast && r.mig && !last:
		default:
			if s.log == nil {
				s.log = &parse.Listing{Complete: s.allLost, DriverVersion: r.memory.driver}
			}
			if fast {
				r.refreshMinors(ctx, s.log)
			} else {
				r.minors.follow(s.log)
				r.minors.keep(s.log)
			}
			if r.selected == nil {
				r.reselected = retry{}
			}
			r.namesakes(s.log)
			r.number(s)
			r.askPmonAgain(ctx, s)
			return s, nil, nil
		}
	}
}

// full runs -q -x, pmon, and the listing's commands where nothing was listed yet. It returns no sweep where it has to be
// tried anew, and one without a log where no GPU was listed on account of some that have no handle.
func (r *Reader) full(ctx context.Context) (*sweep, *failure, error) {
	b := batch{pmon: -1, list: -1, first: -1}
	if r.selected != nil {
		b.list = b.add(queryList())
	}
	data := b.add(queryXML(r.selected))
	if r.wantsPmon() {
		b.pmon = b.add(queryPmon(r.selected))
	}
	if r.listing.index == nil {
		b.first = b.add(listingCommands(r.selected)...)
	}
	results, ranErr := r.runner.Run(ctx, b.commands...)
	if len(results) <= data {
		return none(ranErr)
	}
	s := &sweep{diagnosis: parse.Diagnose(results[data].Stdout, results[data].Stderr, results[data].ExitCode)}
	if b.list >= 0 && !r.holds(s, results[b.list]) {
		return nil, nil, nil
	}
	log, err := parse.XML(results[data].Stdout)
	if failed, err := r.judge("nvidia-smi -q -x", s, log, err); s.log == nil {
		return s, failed, err
	}
	r.listed(s.log)
	r.readPmon(s, results, b.pmon, ranErr)
	if b.first >= 0 && len(results) > b.first {
		r.listing.take(s.log, results[b.first:], r.node.Time)
	}
	r.refreshListing(ctx, s.log)
	return s, nil, nil
}

// quick runs --query-gpu, --query-compute-apps and pmon. A field that is refused is left out and the call repeated.
func (r *Reader) quick(ctx context.Context) (*sweep, *failure, error) {
	if failed, err := r.learn(ctx); failed != nil || err != nil {
		return nil, failed, err
	}
	for {
		b := batch{pmon: -1, list: -1, apps: -1}
		if r.selected != nil {
			b.list = b.add(queryList())
		}
		data := b.add(queryGPU(r.selected, r.fields.names))
		if r.wantsProcesses() {
			b.apps = b.add(queryApps(r.selected))
		}
		if r.wantsPmon() {
			b.pmon = b.add(queryPmon(r.selected))
		}
		results, ranErr := r.runner.Run(ctx, b.commands...)
		if len(results) <= data {
			return none(ranErr)
		}
		s := &sweep{diagnosis: parse.Diagnose(results[data].Stdout, results[data].Stderr, results[data].ExitCode)}
		if b.list >= 0 && !r.holds(s, results[b.list]) {
			return nil, nil, nil
		}
		lines, whole := results[data].Lines()
		log, found := parse.QueryGPU(lines, r.fields.names)
		if !found && s.diagnosis.Failure == parse.FailureUsage {
			if r.fields.refuse(s.diagnosis.BadField, r.want); r.fields.useless {
				return nil, nil, nil
			}
			continue
		}
		all := log.Attached == gpu.Some(int64(len(log.GPUs))) // that the driver counts
		log.Complete = log.Complete && (whole || all)
		var err error
		if !found {
			err = fmt.Errorf("no table in %d bytes of output", len(results[data].Stdout))
		}
		if failed, err := r.judge("nvidia-smi --query-gpu", s, log, err); s.log == nil {
			return s, failed, err
		}
		r.listed(s.log)
		r.guessed()
		r.readApps(s, results, b.apps, ranErr)
		r.readPmon(s, results, b.pmon, ranErr)
		return s, nil, nil
	}
}

// none is a read of which not even the first command has a result.
func none(err error) (*sweep, *failure, error) {
	if err == nil {
		err = errors.New("nvidia-smi: the runner returned no result")
	}
	if failed := notRun(err); failed != nil {
		return nil, failed, nil
	}
	return nil, nil, err
}

// unwell tells whether a GPU of a listing cannot be reached, which explains an exit code, and much else.
func unwell(s *sweep) bool {
	attached, known := s.log.Attached.Get()
	if len(s.diagnosis.Unreachable) > 0 || known && attached > int64(len(s.log.GPUs)) {
		return true
	}
	return slices.ContainsFunc(s.log.GPUs, func(g parse.GPU) bool { return g.Device.State() == gpu.StateFailed })
}

// judge decides whether a call that lists GPUs did so. Data count before messages and exit codes: the tool ends with a code
// for one lost GPU after it has listed the others. The sweep has no log where not one GPU was listed.
func (r *Reader) judge(call string, s *sweep, log *parse.Listing, err error) (*failure, error) {
	d := &s.diagnosis
	switch {
	case err == nil && len(log.GPUs) > 0:
		s.log = log
	case len(d.Unreachable) > 0: // each lost, or one of them costing the others
		return nil, nil
	case d.Failure != parse.FailureNone:
		return refused(call, *d), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", call, err)
	case log.Complete:
		d.Failure, d.Message = parse.FailureNoDevices, "it lists no GPU"
		return refused(call, *d), nil
	default:
		return nil, fmt.Errorf("%s: the output ends before the first GPU does", call)
	}
	if !s.log.Complete {
		r.problem(gpu.ProblemQuantity, "", "output", fmt.Errorf("%s: the output ends early or has rows that cannot be read; GPUs may be left out", call))
	}
	if s.log.Dropped > 0 {
		r.problem(gpu.ProblemQuantity, "", "rows", fmt.Errorf("%s: %d GPUs, processes or rows cannot be read or are too many", call, s.log.Dropped))
	}
	if d.Failure != parse.FailureNone && len(d.CorruptInfoROM) == 0 && !unwell(s) {
		r.problem(gpu.ProblemQuantity, "", "exit code", fmt.Errorf("%s: GPUs were listed, yet it says: %s", call, d.Message))
	}
	return nil, nil
}

// listed notes what a listing says of MIG.
func (r *Reader) listed(log *parse.Listing) {
	on := 0
	for i := range log.GPUs {
		if enabled, _ := log.GPUs[i].MIGEnabled.Get(); enabled {
			on++
		}
	}
	r.mig = on > 0
	r.allMIG = on == len(log.GPUs)
	r.fields.follow(log.DriverVersion)
}

func (r *Reader) wantsProcesses() bool {
	return r.want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization)
}

// wantsPmon: where every GPU has MIG on, pmon has nothing but dashes.
func (r *Reader) wantsPmon() bool {
	refused := r.pmon.refused != "" && r.pmon.driver == r.memory.driver && !r.pmon.again.due(r.node.Time)
	return r.wantsProcesses() && !r.allMIG && !refused
}
