// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// readUsage reads how busy the GPU is, and returns the shares of its partitions.
func readUsage(usage record, d *gpu.Device) []smidevice.Share {
	d.Utilization[gpu.TaskGeneral] = smitext.Quantity(usage.first("gfx_activity", "gfx_usage"), smitext.Ratio, "%")
	d.MemoryController = smitext.Quantity(usage.first("umc_activity", "mem_usage"), smitext.Ratio, "%")
	shares := readShares(usage)
	// Since 7.0 the engines are listed by partition only, even if there is one.
	d.Utilization[gpu.TaskJPEG] = engines(usage["jpeg_activity"]).Or(meanShare(shares, gpu.TaskJPEG))
	// Boards without partitions have one value since 7.2. The value of the table of metrics, mm_activity, is the last resort.
	d.Utilization[gpu.TaskMedia] = engines(usage["vcn_activity"]).Or(meanShare(shares, gpu.TaskMedia)).
		Or(engines(usage["vcn_busy"])).Or(engines(usage["apu_average_vcn_activity"])).Or(engines(usage["mm_activity"]))
	return shares
}

// readShares reads the utilization of each partition, which the first one's record has: {"xcp_0": [{"value": 7, …}, "N/A"]}.
// A GPU that is not divided has one, which says nothing that the GPU's own utilization does not.
func readShares(usage record) []smidevice.Share {
	var shares []smidevice.Share
	for task, key := range map[gpu.Task]string{gpu.TaskGeneral: "gfx_busy_inst", gpu.TaskJPEG: "jpeg_busy", gpu.TaskMedia: "vcn_busy"} {
		for name, v := range usage.section(key) {
			n, ok := partitionNumber(name)
			if !ok {
				continue
			}
			for len(shares) <= n {
				shares = append(shares, smidevice.Share{})
			}
			shares[n].Utilization[task] = engines(v)
		}
	}
	return shares
}

// partitionNumber reads "xcp_0".
func partitionNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(strings.ToLower(name), "xcp_")
	n, err := strconv.ParseUint(digits, 10, 8)
	return int(n), ok && err == nil && n < maxPartitions
}

const (
	maxPartitions = 64
	maxInstances  = 128 // of one kind in one partition. JPEG engines are the most frequent, up to 40
)

// meanShare returns the mean over the partitions.
func meanShare(shares []smidevice.Share, task gpu.Task) gpu.Opt[float64] {
	var all []gpu.Opt[float64]
	for i := range shares {
		all = append(all, shares[i].Utilization[task])
	}
	return smitext.Mean(all)
}

// engines returns the mean over the engines of a kind: a list, or a single value.
func engines(v any) gpu.Opt[float64] {
	if list, ok := v.([]any); ok {
		return smitext.Mean(ratios(list))
	}
	return smitext.Quantity(v, smitext.Ratio, "%")
}

// xccUtilization reads how busy each XCC is, by partition.
func xccUtilization(v any) []gpu.Opt[float64] { return ratios(byPartition(v)) }

func ratios(list []any) []gpu.Opt[float64] {
	var result []gpu.Opt[float64]
	for _, busy := range list {
		result = append(result, smitext.Quantity(busy, smitext.Ratio, "%"))
	}
	return result
}

// byPartition returns the values of all partitions in one list: {"xcp_0": [1, 2, "N/A"], "xcp_1": [3, 4, "N/A"]} is 1, 2, 3, 4. The places at
// the end of each list that no partition uses are left out. From a plain list it removes such places.
func byPartition(v any) []any {
	if list, ok := v.([]any); ok {
		return list[:used(list)]
	}
	lists := make(map[int][]any)
	most, partitions := 0, 0
	section, _ := v.(map[string]any)
	if inner, ok := section["value"].(map[string]any); ok { // with a unit that is empty
		section = inner
	}
	for name, inner := range section {
		n, ok := partitionNumber(name)
		list, isList := inner.([]any)
		if !ok {
			continue
		}
		if !isList {
			list = []any{inner}
		}
		if length := used(list); length > 0 {
			lists[n] = list[:length]
			most, partitions = max(most, length), max(partitions, n+1)
		}
	}
	result := make([]any, most*partitions)
	for n, list := range lists {
		copy(result[n*most:], list)
	}
	return result
}

// used returns the length of a list without the invalid values at its end.
func used(list []any) int {
	list = list[:min(len(list), maxInstances)]
	for i, v := range slices.Backward(list) {
		if _, _, ok := smitext.NumberOf(v); ok {
			return i + 1
		}
	}
	return 0
}
