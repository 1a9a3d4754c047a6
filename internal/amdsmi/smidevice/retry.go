// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// retryPolicy spaces out the starts of a tool that finds nothing: a Python program costs too much to run at every interval for that.
var retryPolicy = backoff.Policy{First: time.Minute, Max: 5 * time.Minute, Free: 1}

// Retry is why the tool found nothing, and when it is started again.
type Retry struct {
	backoff.Backoff

	Reason error
	Absent bool // the driver or its GPUs are known not to be there
}

// Failed counts a start that found nothing.
func (r *Retry) Failed(now time.Time, reason error, absent bool) {
	r.Reason, r.Absent = reason, absent
	r.Backoff.Failed(now, retryPolicy)
}
