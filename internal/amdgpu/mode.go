// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

// count returns how many partitions the GPU is divided into; 0: it is whole. A container may not see the topology, or the
// nodes of some partitions only: then the table tells, and the mode.
func (b *board) count() int {
	n, profile := len(b.nodes), b.identity.profile
	if profile != "SPX" {
		n = max(n, partitionsOf(profile), b.tabled())
	}
	if n < 2 && (profile == "" || profile == "SPX") {
		return 0
	}
	for i := range b.nodes {
		n = max(n, b.nodes[i].partition+1)
	}
	if n < 2 {
		return 0
	}
	return n
}

// partitionsOf returns how many partitions a mode means on every GPU; 0: that depends on the GPU.
func partitionsOf(profile string) int {
	switch profile {
	case "DPX":
		return 2
	case "TPX":
		return 3
	case "QPX":
		return 4
	}
	return 0
}

// tabled returns how many partitions the table tells of, or has told of in this mode: that it cannot be read just now makes
// them no fewer. 0: nothing is known.
func (b *board) tabled() int {
	if n, ok := b.metrics.partitions.Get(); ok && n > 1 && n <= maxPartitions {
		b.told, b.toldIn = int(n), b.identity.profile
	}
	if b.toldIn != b.identity.profile {
		return 0
	}
	return b.told
}
