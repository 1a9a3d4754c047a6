// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"path/filepath"
	"slices"
	"strings"
)

// bus finds the GPUs on the PCI bus and what each is bound to. It tells whether the bus could be read.
func (s *scanner) bus(again bool) bool {
	d, err := openDir(filepath.Join(s.root, "sys/bus/pci/devices"))
	if err != nil {
		s.note(err)
		s.functions, s.busSum = nil, 0
		return false
	}
	defer d.close()
	sum, err := s.sum(d)
	if err != nil {
		return false
	}
	if again || sum != s.busSum {
		s.busSum = sum
		s.functions = s.functions[:0]
		n := 0
		for name := range d.names(s.list) {
			if n++; n > maxFunctions {
				break
			}
			if address := string(name); s.isGPU(d, address) {
				s.functions = append(s.functions, function{address: strings.ToLower(address)})
			}
		}
		slices.SortFunc(s.functions, func(a, b function) int { return strings.Compare(a.address, b.address) })
	}
	for i := range s.functions {
		f := &s.functions[i]
		f.driver = ""
		if target, err := d.link(f.address+"/driver", s.buf); err == nil {
			f.driver = filepath.Base(string(target))
		}
	}
	return true
}

// isGPU tells AMD's display controllers and processing accelerators. The virtual functions of a GPU that is split for
// virtual machines are no GPUs of this machine.
func (s *scanner) isGPU(d *dir, address string) bool {
	text, err := d.read(address+"/vendor", s.buf)
	s.note(err)
	if v, ok := parseHex(text); err != nil || !ok || v != vendorAMD {
		return false
	}
	text, err = d.read(address+"/class", s.buf)
	s.note(err)
	class, ok := parseHex(text)
	if err != nil || !ok || class>>16 != 0x03 && class>>8 != 0x1200 {
		return false
	}
	_, err = d.link(address+"/physfn", s.buf)
	return err != nil
}
