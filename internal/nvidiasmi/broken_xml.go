// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// brokenXML is what is known about a tool whose -q -x breaks off, as that of driver 535 does on some libraries. Its tables may
// work all the same.
type brokenXML struct {
	err   error           // how -q -x broke off when it was last run; nil where it did not
	retry backoff.Backoff // spaces out the attempts while the table replaces it
}

// replaced reports whether to run the table without trying -q -x first.
func (b *brokenXML) replaced(now time.Time) bool { return b.err != nil && !b.retry.Due(now) }

func (b *brokenXML) failed(err error, now time.Time) {
	b.err = err
	b.retry.Failed(now, retryPolicy)
}

// fullOrTable runs -q -x, and the table where -q -x breaks off. fast reports which of them the output is from.
func (q *queries) fullOrTable(ctx context.Context, now time.Time) (out *output, fast bool, err error) {
	tableFails := q.fields.exhausted(now)
	if !tableFails && q.xml.replaced(now) {
		out, err = q.table(ctx, now)
		if breaks(out, err) == nil {
			return q.instead(out), true, err
		}
		tableFails = true
	}
	out, err = q.full(ctx, now)
	cause := breaks(out, err)
	if cause == nil {
		if err == nil && out.listing != nil {
			q.xml = brokenXML{}
		}
		return out, false, err
	}
	q.xml.failed(cause, now)
	if err == nil { // the GPUs before it broke off have their names
		q.minors.follow(out.listing)
		q.minors.take(out.listing)
	}
	if !tableFails {
		table, tableErr := q.table(ctx, now)
		if breaks(table, tableErr) == nil || err != nil && tableErr == nil {
			return q.instead(table), true, tableErr
		}
	}
	q.xml = brokenXML{} // neither works
	return out, false, err
}

// instead adds the problem that the output of a table replaces that of -q -x.
func (q *queries) instead(out *output) *output {
	if out != nil && out.listing != nil {
		out.migUnread = true
		out.problem(gpu.ProblemQuantity, "", "full query", fmt.Errorf("%w; the GPUs are read by --query-gpu, without temperature limits, PCIe replays and MIG devices, "+
			"until -q -x works: use the nvml scraper, update the driver, or set query: %s", q.xml.err, QueryFast))
	}
	return out
}

// breaks returns how the tool broke off, or nil where it did not: it listed the GPUs, or said why it cannot.
func breaks(out *output, err error) error {
	var f *failure
	switch {
	case errors.As(err, &f) && f.breaks:
		return err
	case err == nil && out.listing != nil && !out.listing.Complete && !out.reportsLost():
		return fmt.Errorf("%s: %w after %d GPUs", out.call, errEndsEarly, len(out.listing.GPUs))
	}
	return nil
}
