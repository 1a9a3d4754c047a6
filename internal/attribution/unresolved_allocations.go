// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
)

// unresolvedAllocations counts the allocations of GPUs that are not among those that were read.
type unresolvedAllocations struct {
	count     int
	first     string
	ambiguous bool // one of them may be a GPU that was read
	dynamic   bool // so may a dynamic one, which more sources of information would resolve
}

func (u *unresolvedAllocations) add(allocation *podresources.Allocation, ambiguous bool) {
	if u.count == 0 {
		u.first = describeAllocation(allocation)
	}
	u.count++
	if ambiguous {
		u.ambiguous = true
		u.dynamic = u.dynamic || allocation.Dynamic != nil
	}
}

func (u *unresolvedAllocations) err() error {
	problem := "is not one of the GPUs that were read"
	if u.ambiguous {
		problem = "does not identify one of the GPUs"
	}
	if u.dynamic {
		problem += "; for dynamic resource allocation, mount " +
			fmt.Sprint(cdi.DefaultDirs()) + " or grant list and watch on resourceslices"
	}
	return fmt.Errorf("attribution: %s %s (%d allocations in all)", u.first, problem, u.count)
}

func describeAllocation(allocation *podresources.Allocation) string {
	if d := allocation.Dynamic; d != nil {
		return fmt.Sprintf("%s device %s/%s", d.Driver, d.Pool, d.Device)
	}
	return fmt.Sprintf("%s device %s", allocation.Resource, allocation.ID)
}
