// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

// DropRepeatedUsage removes the memory usage of the partitions if it is the usage of the GPU, which some drivers report for each partition.
// Otherwise the sum over the partitions would be several times too high. whole is the usage of the GPU. If it is unknown, equal values
// count as the usage of the GPU.
func DropRepeatedUsage(whole Opt[int64], partitions []Device) {
	// The partitions' own usage adds up to the GPU's. The margin is for memory that is allocated between the reads.
	const margin = 1.5
	var first, sum, count int64
	equal, wholesale := true, false
	used, wholeKnown := whole.Get()
	for i := range partitions {
		v, ok := partitions[i].Memory.Usage.Get()
		if !ok {
			continue
		}
		if count == 0 {
			first = v
		}
		count++
		sum += v
		equal = equal && v == first
		wholesale = wholesale || wholeKnown && v == used
	}
	repeated := wholesale || float64(sum) > margin*float64(used)
	if !wholeKnown {
		repeated = count > 1 && equal
	}
	if sum == 0 || !repeated {
		return
	}
	for i := range partitions {
		partitions[i].Memory.Usage = Opt[int64]{}
	}
}
