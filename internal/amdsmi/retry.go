// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// retryPolicy spaces out the starts of a tool that finds nothing: a Python program costs too much to run at every interval for that.
var retryPolicy = backoff.Policy{First: time.Minute, Max: 5 * time.Minute, Free: 1}

// retry is why the tool found nothing, and when it is started again.
type retry struct {
	backoff.Backoff

	reason error
	absent bool // the driver or its GPUs are known not to be there
}

func (r *retry) failed(now time.Time, reason error, absent bool) {
	r.reason, r.absent = reason, absent
	r.Failed(now, retryPolicy)
}
