// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"fmt"
	"strconv"
)

// instances turns MIG on, with as many devices as fit, or with none.
func (m *machine) instances(n int) {
	m.set("mig", "1")
	index, slices := m.IntN(2), 7
	m.mig[n] = []int{}
	for gi := 1 + m.IntN(3); slices > 0 && !m.sometimes(6); gi += 1 + m.IntN(2) {
		size := []int{1, 2, 3, 4, 7}[m.IntN(5)]
		if size > slices {
			continue
		}
		slices -= size
		profile := fmt.Sprintf("%dg.%dgb", size, 10*size)
		parts := 1
		if size > 1 && m.sometimes(3) {
			parts = 2
			profile = "1c." + profile
		}
		for ci := range parts {
			if index > 7 {
				return
			}
			m.line("[mig %d %d]\nprofile = %s\ngi = %d\nci = %d", n, index, profile, gi, ci)
			m.rarely("memory.used", m.whole(0, 10<<30), "0")
			m.rarely("ecc.volatile.uncorrected.sram", m.whole(0, 1<<30), "1")
			m.mig[n] = append(m.mig[n], index)
			index += 1 + m.IntN(2)
		}
	}
}

// process writes a process that uses some of the GPUs, some of them in two ways.
func (m *machine) process(i, gpus int) {
	pid := strconv.Itoa(1000 + 7*i)
	name := m.one("/usr/bin/python3", "python3 /srv/train.py --key x", "/opt/a & b/<c>", "Xorg", "weird, name", "über")
	for _, g := range m.Perm(gpus)[:1+m.IntN(gpus)] {
		devices, partitioned := m.mig[g]
		if partitioned && len(devices) == 0 {
			continue
		}
		types := []string{"compute", "graphics"}
		if !m.sometimes(3) {
			types = types[m.IntN(2):][:1]
		}
		memory := m.one(m.whole(1<<20, 60<<30), m.whole(1<<20, 60<<30), "raw(0xFFFFFFFFFFFFFFFF)")
		mig := 0
		if partitioned {
			mig = devices[m.IntN(len(devices))]
		}
		for _, kind := range types {
			m.line("[process p%d.%d.%s]\ngpu = %[2]d\npid = %[4]s\ntype = %[3]s\nname = %[5]s\nmemory = %[6]s\nsm = %[7]d", i, g, kind, pid, name, memory, m.IntN(101))
			if partitioned {
				m.line("mig = %d", mig)
			}
		}
	}
}
