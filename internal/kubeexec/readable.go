// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// clusterState says whether a cluster can be read.
type clusterState struct {
	known   bool         // the other fields mean nothing before
	failure *gpu.Failure // nil: it can
	good    time.Time    // when it last could; zero if it never could
}

func (s *clusterState) differs(failure *gpu.Failure) bool {
	if !s.known || (s.failure == nil) != (failure == nil) {
		return true
	}
	return failure != nil && failure.Reason != s.failure.Reason
}
