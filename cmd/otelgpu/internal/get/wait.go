// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package get

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

// askAgain is the time between two attempts.
const askAgain = 500 * time.Millisecond

// await asks until an answer has an entry, for as long as the options say. It returns what form returns.
func await(ctx context.Context, c *client.Client, r Resource, o Options) (text []byte, printed, total int, err error) {
	until := time.Now().Add(o.Wait)
	for {
		text, printed, total, err = form(ctx, c, r, o)
		if err == nil && printed > 0 || err != nil && !passing(err) {
			return text, printed, total, err
		}
		if time.Until(until) < askAgain {
			if err == nil && o.Wait > 0 {
				err = fmt.Errorf("%s lists no %s after %v; run `otelgpu doctor` on the machine with GPUs to find out what cannot be read", c.Server(), r.Name, o.Wait)
			}
			return text, printed, total, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, 0, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// passing reports whether a failure may end when the collector has started and has read the GPUs.
func passing(err error) bool {
	var f *client.Failure
	return errors.As(err, &f) && (f.Status == 0 || f.Status == http.StatusNotFound || f.Status == http.StatusTooManyRequests ||
		f.Status >= http.StatusInternalServerError)
}
