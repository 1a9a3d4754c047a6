// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fullOrTable runs -q -x, and the table if -q -x breaks off. fast reports which of them the output is from.
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

// instead adds the problem that the output of a table replaces the output of -q -x.
func (q *queries) instead(out *output) *output {
	if out != nil && out.listing != nil {
		out.migUnread = true
		out.problem(gpu.ProblemQuantity, "", "full query", fmt.Errorf("%w; the GPUs are read by --query-gpu, without temperature limits, PCIe replays and MIG devices, "+
			"until -q -x works: use the nvml scraper, update the driver, or set query: %s", q.xml.err, QueryFast))
	}
	return out
}
