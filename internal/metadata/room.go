// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import "go.opentelemetry.io/collector/pdata/pmetric"

// Room is an option that makes room for so many more attributes in one step. Given before the options that add them, it
// spares a point the repeated growth of its attributes, which costs more than all else in recording it.
type Room int

func (r Room) apply(dp pmetric.NumberDataPoint) {
	attributes := dp.Attributes()
	attributes.EnsureCapacity(attributes.Len() + int(r))
}
