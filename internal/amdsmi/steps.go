// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

// step is one command of a read.
type step string

// The steps in the order in which they run. What may be slow comes last: a command that does not end in time costs those after it, too.
const (
	stepVersion step = "version"
	stepList    step = "list"
	stepStatic  step = "static"
	stepMetric  step = "metric"
	stepProcess step = "process"
	stepXGMI    step = "xgmi"
	// stepBadPages runs when static does.
	stepBadPages step = "bad-pages"
	// stepPCIe is a separate metric call. In addition to the link and the replays it measures traffic, which takes a second for each GPU up
	// to MI200.
	stepPCIe step = "metric --pcie"
)
