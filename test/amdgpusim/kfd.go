// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"fmt"
	"strconv"
	"strings"
)

const kfd = "sys/devices/virtual/kfd/kfd"

// kfd writes the topology of the compute driver: node 0 is the CPU, then a node for each GPU or partition.
func (t *Tree) kfd(m *Machine) {
	t.link("sys/class/kfd/kfd", kfd)
	t.mkdir(kfd + "/proc")
	t.write(kfd+"/topology/generation_id", "2\n")
	t.write(kfd+"/topology/system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n")
	cpu := kfd + "/topology/nodes/0"
	t.write(cpu+"/gpu_id", "0\n")
	t.write(cpu+"/name", "\n")
	t.write(cpu+"/properties", "cpu_cores_count 16\nsimd_count 0\nmem_banks_count 1\nio_links_count 1\n")
	t.mkdir(cpu + "/io_links")
	t.mkdir(cpu + "/p2p_links")
	n := 0
	for _, c := range m.Cards {
		for i := range c.Partitions {
			n++
			t.kfdNode(n, c, i)
		}
	}
}

func (t *Tree) kfdNode(n int, c *Card, i int) {
	p := &c.Partitions[i]
	dir := kfd + "/topology/nodes/" + strconv.Itoa(n)
	t.write(dir+"/gpu_id", fmt.Sprintf("%d\n", p.GPUID))
	t.write(dir+"/name", c.gfx()+"\n")
	number := c.Number
	if p.XCP != "" {
		number = p.Number
	}
	parts := len(c.Partitions)
	properties := []struct {
		name  string
		value uint64
	}{
		{"cpu_cores_count", 0},
		{"simd_count", uint64(c.SIMDs / parts)},
		{"mem_banks_count", 1},
		{"caches_count", 0},
		{"io_links_count", 1},
		{"p2p_links_count", 0},
		{"cpu_core_id_base", 0},
		{"simd_id_base", 0},
		{"max_waves_per_simd", 8},
		{"lds_size_in_kb", 64},
		{"gds_size_in_kb", 0},
		{"num_gws", 64},
		{"wave_front_size", 64},
		{"array_count", 32},
		{"simd_arrays_per_engine", 1},
		{"cu_per_simd_array", 10},
		{"simd_per_cu", 4},
		{"max_slots_scratch_cu", 32},
		{"gfx_target_version", uint64(c.Target)},
		{"vendor_id", 0x1002},
		{"device_id", uint64(c.Device)},
		{"location_id", c.location(i)},
		{"domain", domain(c.Address)},
		{"drm_render_minor", uint64(128 + number)},
		{"hive_id", c.HiveID},
		{"num_sdma_engines", 2},
		{"num_xcc", uint64(max(1, c.XCCs/parts))},
		{"unique_id", c.UniqueID},
		{"local_mem_size", uint64(p.Memory)},
		{"fw_version", 139},
		{"capability", 746742272},
		{"sdma_fw_version", 24},
		{"max_engine_clk_fcompute", 2100},
		{"max_engine_clk_ccompute", 3000},
	}
	var b strings.Builder
	for _, v := range properties {
		fmt.Fprintf(&b, "%s %d\n", v.name, v.value)
	}
	t.write(dir+"/properties", b.String())
	t.write(dir+"/mem_banks/0/properties", fmt.Sprintf("heap_type 1\nsize_in_bytes %d\nflags 0\nwidth 8192\nmem_clk_max 1300\n", p.Memory))
	t.number(dir+"/mem_banks/0/used_memory", p.Used)
	t.mkdir(dir + "/caches")
	t.mkdir(dir + "/p2p_links")
	t.write(dir+"/io_links/0/properties", fmt.Sprintf("type 2\nversion_major 0\nversion_minor 0\nnode_from %d\nnode_to 0\nweight 20\n"+
		"min_latency 0\nmax_latency 0\nmin_bandwidth 0\nmax_bandwidth 0\nrecommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 1\n", n))
}

// location returns bus<<8 | device<<3 | function, and the number of the partition in the highest four bits if there are several.
func (c *Card) location(i int) uint64 {
	var domain, bus, device, function uint64
	_, _ = fmt.Sscanf(c.Address, "%x:%x:%x.%x", &domain, &bus, &device, &function)
	id := bus<<8 | device<<3 | function
	if len(c.Partitions) > 1 {
		id |= uint64(i) << 28
	}
	return id
}

func domain(address string) uint64 {
	v, _ := strconv.ParseUint(address[:4], 16, 32)
	return v
}

// gfx returns the name of the target as the driver writes it: gfx942.
func (c *Card) gfx() string {
	return fmt.Sprintf("gfx%d%x%x", c.Target/10000, c.Target/100%100, c.Target%100)
}
