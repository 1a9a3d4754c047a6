// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// queries chooses and runs the commands of a read. It keeps what it learns about the installed version and the machine.
type queries struct {
	runner command.Runner
	want   gpu.Group
	fast   bool
	advice *advice

	driver     string // version of the last listing
	mig        bool   // MIG was enabled on a GPU at the last read
	allMIG     bool   // … on every GPU
	selection  selection
	fields     fields
	pmon       pmon
	deviceList deviceList
	minors     deviceMinors
	xml        brokenXML
	rows       remappedRows
}

// maxAttempts bounds how often one read queries the GPUs: for a selection of them, for another selection, and in full.
const maxAttempts = 4

// errQueryAgain is returned by a query that has to be repeated: the selection of GPUs does not hold any more, or the version
// takes no field.
var errQueryAgain = errors.New("query again")

// run queries the GPUs as configured. MIG makes it query in full. A GPU without a device handle makes it query the others by their indices.
// The error is a *failure if it says something about the GPUs.
func (q *queries) run(ctx context.Context, now time.Time) (*output, error) {
	q.selection.release(now)
	for attempt := 1; ; attempt++ {
		last := attempt == maxAttempts
		fast := q.fast && !q.mig && !q.fields.exhausted(now)
		var out *output
		var err error
		if fast {
			out, err = q.table(ctx, now)
		} else {
			out, fast, err = q.fullOrTable(ctx, now)
		}
		switch {
		case errors.Is(err, errQueryAgain) && !last:
		case errors.Is(err, errQueryAgain):
			return nil, &failure{error: fmt.Errorf("nvidia-smi: the GPUs that can be read changed %d times during one read; the next read tries again", maxAttempts), reason: gpu.FailureToolFailed, mute: true}
		case err != nil:
			return nil, err
		case out.listing == nil && !last && q.selection.choose(ctx, q.runner, now, out):
		case out.listing != nil && fast && q.mig && !out.migUnread && !last:
		default:
			q.complete(ctx, out, fast, now)
			return out, nil
		}
	}
}

// full runs -q -x and pmon, and the commands of the device list if it was not read yet.
func (q *queries) full(ctx context.Context, now time.Time) (*output, error) {
	var b batch
	if q.selection.gpus != nil {
		b.add(forSelection, queryList())
	}
	b.add(forGPUs, queryXML(q.selection.gpus))
	if q.wantsPmon(now) {
		b.add(forPmon, queryPmon(q.selection.gpus))
	}
	if !q.deviceList.known() {
		b.add(forList, queryList())
		b.add(forIdentity, queryIdentity(q.selection.gpus))
	}
	res := b.run(ctx, q.runner)
	out, gpus, err := q.begin("nvidia-smi -q -x", res)
	if err != nil {
		return nil, err
	}
	listing, err := parse.XML(gpus.Stdout)
	if err := out.accept(listing, err); err != nil || out.listing == nil {
		return out, err
	}
	q.pmon.read(res, out, now)
	if list, _ := res.find(forList); list != nil {
		identities, _ := res.find(forIdentity)
		q.deviceList.take(listing, list, identities, now)
	}
	out.explain(!q.readRest(ctx, out))
	if !q.wantsProcesses() {
		for i := range listing.GPUs {
			listing.GPUs[i].Processes, listing.GPUs[i].ProcessesRead = nil, false
		}
	}
	q.follow(listing)
	q.deviceList.refresh(ctx, q.runner, q.selection.gpus, out, now)
	return out, nil
}

// table runs --query-gpu, --query-compute-apps and pmon. It removes a field that is refused and runs them again.
func (q *queries) table(ctx context.Context, now time.Time) (*output, error) {
	if err := q.fields.learn(ctx, q.runner, q.want, now); err != nil {
		return nil, err
	}
	for {
		var b batch
		if q.selection.gpus != nil {
			b.add(forSelection, queryList())
		}
		b.add(forGPUs, queryGPU(q.selection.gpus, q.fields.names))
		if q.wantsProcesses() {
			b.add(forApps, queryApps(q.selection.gpus))
		}
		if q.wantsPmon(now) {
			b.add(forPmon, queryPmon(q.selection.gpus))
		}
		if q.wantsRows() {
			b.add(forRows, queryRows(q.selection.gpus))
		}
		res := b.run(ctx, q.runner)
		out, gpus, err := q.begin("nvidia-smi --query-gpu", res)
		if err != nil {
			return nil, err
		}
		lines, whole := gpus.Lines()
		listing, found := parse.QueryGPU(lines, q.fields.names)
		if !found && out.diagnosis.Failure == parse.FailureUsage {
			if q.fields.refuse(out.diagnosis.BadField, q.want); q.fields.useless {
				return nil, errQueryAgain
			}
			continue
		}
		all := listing.Attached == gpu.Some(int64(len(listing.GPUs))) // as many as the driver counts
		listing.Complete = listing.Complete && (whole || all)
		if !found {
			err = fmt.Errorf("no table in %d bytes of output", len(gpus.Stdout))
		}
		if err := out.accept(listing, err); err != nil || out.listing == nil {
			return out, err
		}
		out.explain(true)
		q.follow(listing)
		q.fields.report(out)
		out.readApps(res)
		q.rows.read(res, out, q.driver)
		q.pmon.read(res, out, now)
		return out, nil
	}
}

// begin returns the output of a query and the result that lists the GPUs.
func (q *queries) begin(call string, res results) (*output, *command.Result, error) {
	gpus, _ := res.find(forGPUs)
	if gpus == nil {
		return nil, nil, runError(res.err)
	}
	out := &output{call: call, advice: q.advice, diagnosis: diagnose(gpus)}
	if list, queried := res.find(forSelection); queried && !q.selection.holds(list, out) {
		return nil, nil, errQueryAgain
	}
	return out, gpus, nil
}

// follow takes from a listing what determines the next queries.
func (q *queries) follow(listing *parse.Listing) {
	enabled := 0
	for i := range listing.GPUs {
		if mig, _ := listing.GPUs[i].MIGEnabled.Get(); mig {
			enabled++
		}
	}
	q.mig = enabled > 0
	q.allMIG = enabled == len(listing.GPUs)
	q.fields.follow(listing.DriverVersion)
}

// complete adds what further commands and earlier reads know about the GPUs: their indices and names, and the processes that
// pmon lists for the reachable ones.
func (q *queries) complete(ctx context.Context, out *output, fast bool, now time.Time) {
	if out.listing == nil {
		out.listing = &parse.Listing{Complete: out.allUnreachable, DriverVersion: q.driver}
	}
	q.driver = cmp.Or(out.listing.DriverVersion, q.driver)
	if fast {
		mig := q.minors.refresh(ctx, q.runner, q.selection.gpus, out, q.xml.err, now)
		q.mig = q.mig || mig
	} else {
		q.minors.follow(out.listing)
		q.minors.take(out.listing)
	}
	if q.selection.gpus == nil {
		q.selection = selection{}
	}
	clearDuplicateIDs(out)
	q.identify(out)
	q.pmon.retryReachable(ctx, q.runner, out, now)
	q.pmon.report(out)
}

// identify sets the GPUs' indices, which XML does not print, and their names. An index that -L did not print comes from the selection, or
// is the place in the listing, in which GPUs without a device handle count.
func (q *queries) identify(out *output) {
	inUse := map[int]bool{}
	for _, u := range out.diagnosis.Unreachable {
		if n, ok := u.Index.Get(); ok {
			inUse[n] = true
		}
	}
	next := 0
	for i := range out.listing.GPUs {
		g := &out.listing.GPUs[i]
		d := &g.Device
		for inUse[next] {
			next++
		}
		if n, ok := q.deviceList.index[d.ID]; ok && d.ID != "" {
			d.Index = d.Index.Or(gpu.Some(n))
		}
		if len(q.selection.gpus) == len(out.listing.GPUs) {
			d.Index = d.Index.Or(gpu.Some(q.selection.gpus[i]))
		}
		d.Index = d.Index.Or(gpu.Some(next))
		index, _ := d.Index.Get()
		next = index + 1
		d.CurrentIndex = d.Index
		d.Info.ComputeCapability = cmp.Or(d.Info.ComputeCapability, q.deviceList.capabilities[d.ID])
		d.Name = q.minors.name(g)
		points := q.minors.byGPU[minorKey(d)].tLimitPoints
		g.AddMargins(&points)
	}
}

func (q *queries) wantsProcesses() bool {
	return q.want.Has(gpu.GroupProcesses | gpu.GroupProcessUtilization)
}

// wantsPmon reports whether to run pmon. If MIG is enabled on every GPU it prints nothing but dashes.
func (q *queries) wantsPmon(now time.Time) bool {
	return q.wantsProcesses() && !q.allMIG && q.pmon.due(q.driver, now)
}

func (q *queries) wantsRows() bool {
	inTable := slices.Contains(q.fields.names, "remapped_rows.pending")
	return q.want.Has(gpu.GroupRemappedRows) && !inTable && (!q.rows.refused || q.rows.driver != q.driver)
}

// reset forgets what was learnt about the installed version. driver stays: the known GPUs were seen with it.
func (q *queries) reset() {
	*q = queries{runner: q.runner, want: q.want, fast: q.fast, advice: q.advice, driver: q.driver}
}

// driverAway forgets the numbers of the device nodes, which the driver assigns again when it comes back.
func (q *queries) driverAway() { q.minors = deviceMinors{} }
