// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// readProfile reads the compute partition mode: SPX, DPX, TPX, QPX, CPX; empty if the driver does not know it. It reports whether the mode
// could be read.
func readProfile(r *reader) (string, bool) {
	text, ok := r.file("partition", "current_compute_partition")
	return strings.ToUpper(sysfs.Label(text)), ok
}

// readMemoryMode reads the partition mode of the memory: NPS1, NPS4; empty if the driver does not know it.
func readMemoryMode(r *reader) string {
	text, _ := r.file("partition", "current_memory_partition")
	mode := strings.ToUpper(sysfs.Label(text))
	if !strings.HasPrefix(mode, "NPS") {
		return "" // UNKNOWN
	}
	return mode
}

// partitionCount remembers how many partitions the table had, and in which mode: that the table cannot be read just now makes them
// no fewer.
type partitionCount struct {
	inTable int
	mode    string
}

// count returns how many partitions a GPU is divided into; 0: it is whole. A container may not see the topology, or the nodes of
// only some partitions: then the table has the number, or the mode.
func (c *partitionCount) count(mode string, nodes []scan.Node, table *gpumetrics.Table) int {
	n := len(nodes)
	if mode != "SPX" {
		n = max(n, partitionsOf(mode), c.tableCount(mode, table))
	}
	if n < 2 && (mode == "" || mode == "SPX") {
		return 0
	}
	for i := range nodes {
		n = max(n, nodes[i].Partition+1)
	}
	if n < 2 {
		return 0
	}
	return n
}

// partitionsOf returns how many partitions a mode means on every GPU; 0: that depends on the GPU.
func partitionsOf(mode string) int {
	switch mode {
	case "DPX":
		return 2
	case "TPX":
		return 3
	case "QPX":
		return 4
	}
	return 0
}

// tableCount returns how many partitions the table has, or had in this mode. 0: nothing is known.
func (c *partitionCount) tableCount(mode string, table *gpumetrics.Table) int {
	if n, ok := table.Partitions.Get(); ok && n > 1 && n <= gpumetrics.MaxPartitions {
		c.inTable, c.mode = int(n), mode
	}
	if c.mode != mode {
		return 0
	}
	return c.inTable
}
