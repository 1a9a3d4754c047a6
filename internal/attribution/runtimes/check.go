// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"os"
	"strings"
)

// Check is whether a configured runtime can be queried.
type Check struct {
	Runtime string   // container.runtime.name
	Places  []string // its existing files and sockets; empty if the machine does not have the runtime
	Err     error
}

// Check looks up a container that does not exist in each runtime. Without a running container containerd's socket is not queried.
func (r *Runtimes) Check(ctx context.Context) []Check {
	checks := make([]Check, 0, len(r.runtimes))
	for _, runtime := range r.runtimes {
		check := Check{Runtime: runtime.name()}
		for _, place := range runtime.places() {
			if _, err := os.Stat(place); !isMissing(err) {
				check.Places = append(check.Places, place)
			}
		}
		_, check.Err = runtime.find(ctx, strings.Repeat("0", 64))
		checks = append(checks, check)
	}
	return checks
}
