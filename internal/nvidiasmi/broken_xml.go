// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

// brokenXML is what is known about a tool whose -q -x breaks off, as driver 535 does on some libraries. Its tables may still work.
type brokenXML struct {
	err   error           // how -q -x broke off when it was last run; nil if it did not
	retry backoff.Backoff // spaces out the attempts while the table replaces it
}

// replaced reports whether to run the table without trying -q -x first.
func (b *brokenXML) replaced(now time.Time) bool { return b.err != nil && !b.retry.Due(now) }

func (b *brokenXML) failed(err error, now time.Time) {
	b.err = err
	b.retry.Failed(now, retryPolicy)
}

// breaks returns how the tool broke off, or nil if it did not: it listed the GPUs, or said why it cannot.
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
