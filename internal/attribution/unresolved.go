// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
)

// unresolved counts the allocations of devices that are not among those that were read.
type unresolved struct {
	count  int
	untold int // of which it cannot be told which device is meant
	first  string
	// dynamic: one of the untold was allocated dynamically, for which there is more that would tell.
	dynamic bool
}

func (u *unresolved) add(allocation *podresources.Allocation, told bool) {
	if u.count == 0 {
		u.first = describeAllocation(allocation)
	}
	u.count++
	if !told {
		u.untold++
		u.dynamic = u.dynamic || allocation.Dynamic != nil
	}
}

func (u *unresolved) err() error {
	what := "is none of the GPUs that were read"
	if u.untold > 0 {
		what = "cannot be told to be one of the GPUs"
	}
	if u.dynamic {
		what += "; for dynamic resource allocation, mount " +
			fmt.Sprint(cdi.DefaultDirs()) + " or allow list and watch on resourceslices"
	}
	return fmt.Errorf("attribution: %s %s (%d allocations in all)", u.first, what, u.count)
}

func describeAllocation(allocation *podresources.Allocation) string {
	if d := allocation.Dynamic; d != nil {
		return fmt.Sprintf("%s device %s/%s", d.Driver, d.Pool, d.Device)
	}
	return fmt.Sprintf("%s device %s", allocation.Resource, allocation.ID)
}
