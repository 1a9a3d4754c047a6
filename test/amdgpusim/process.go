// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (t *Tree) process(m *Machine, p *Process) {
	dir := fmt.Sprintf("proc/%d", p.PID)
	t.write(dir+"/comm", p.Name+"\n")
	t.write(dir+"/cmdline", p.Name+"\x00")
	t.write(dir+"/stat", fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 4194304%s %d00 0 0\n", p.PID, p.Name, p.PID, p.PID,
		strings.Repeat(" 0", 12), p.PID))
	t.mkdir(dir + "/fd")
	t.mkdir(dir + "/fdinfo")
	for _, f := range p.Files {
		t.linkTo(fmt.Sprintf("%s/fd/%d", dir, f.FD), f.Target)
		t.write(fmt.Sprintf("%s/fdinfo/%d", dir, f.FD), f.info())
	}
	if len(p.Compute) == 0 {
		return
	}
	k := fmt.Sprintf("%s/proc/%d", kfd, p.PID)
	t.write(k+"/pasid", "32770\n")
	for i, u := range everywhere(m, p.Compute) {
		t.number(fmt.Sprintf("%s/vram_%d", k, u.GPUID), u.VRAM)
		t.number(fmt.Sprintf("%s/sdma_%d", k, u.GPUID), u.SDMA)
		t.number(fmt.Sprintf("%s/stats_%d/cu_occupancy", k, u.GPUID), int64(u.Occupied))
		t.number(fmt.Sprintf("%s/stats_%d/evicted_ms", k, u.GPUID), u.Evicted)
		if u.VRAM == 0 {
			continue
		}
		t.write(fmt.Sprintf("%s/queues/%d/gpuid", k, i), strconv.FormatUint(uint64(u.GPUID), 10))
		t.write(fmt.Sprintf("%s/queues/%d/type", k, i), "0")
		t.write(fmt.Sprintf("%s/queues/%d/size", k, i), "4096")
	}
}

// everywhere adds zero usage: the driver has files for every GPU.
func everywhere(m *Machine, uses []ComputeUse) []ComputeUse {
	result := append([]ComputeUse{}, uses...)
	for _, c := range m.Cards {
		for _, p := range c.Partitions {
			if !slices.ContainsFunc(uses, func(u ComputeUse) bool { return u.GPUID == p.GPUID }) {
				result = append(result, ComputeUse{GPUID: p.GPUID})
			}
		}
	}
	return result
}

func (f *File) info() string {
	var b strings.Builder
	b.WriteString("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1067\n")
	if f.Client == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "drm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t%s\npasid:\t32770\n", f.Client.ID, f.Client.Address)
	for _, line := range f.Client.Keys {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// VRAM returns the fdinfo line with a client's device memory in KiB.
func VRAM(kib int64) string { return fmt.Sprintf("drm-memory-vram:\t%d KiB", kib) }

// Engine returns the fdinfo line with the nanoseconds that an engine worked for a client.
func Engine(name string, ns int64) string { return fmt.Sprintf("drm-engine-%s:\t%d ns", name, ns) }
