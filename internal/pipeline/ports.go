// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ports finds the GPU to which a PCI address belongs: the address of the GPU itself, or of a port that is above this GPU and above no other
// one. Either end of a link reports its errors.
type ports struct {
	sys   string
	above map[string][]string // the ports above a GPU, by its PCI address
}

func newPorts(sys string) ports { return ports{sys: sys, above: map[string][]string{}} }

// set records the ports above a GPU. A GPU does not move: its ports are read until they are found.
func (p *ports) set(address string) {
	if len(p.above[address]) > 0 || len(p.above) >= maxRemembered {
		return
	}
	p.above[address] = nil
	target, err := os.Readlink(filepath.Join(p.sys, "bus/pci/devices", address))
	if err != nil {
		return // no sysfs, or not the sysfs of this machine: errors of the GPU itself still count
	}
	p.above[address] = portsIn(target)
}

var functionForm = regexp.MustCompile(`^[[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2}\.[0-7]$`)

// portsIn returns the PCI functions on the path of a function in sysfs: ../../../devices/pci0000:9a/0000:9a:01.0/0000:9b:00.0.
func portsIn(path string) (found []string) {
	for name := range strings.SplitSeq(filepath.Dir(path), "/") {
		if functionForm.MatchString(name) {
			found = append(found, strings.ToLower(name))
		}
	}
	return found
}

// gpu returns the address of the GPU to which an address belongs.
func (p *ports) gpu(address string) (found string, ok bool) {
	if _, ok := p.above[address]; ok {
		return address, true
	}
	for gpu, above := range p.above {
		for _, port := range above {
			if port != address {
				continue
			}
			if ok {
				return "", false // of several GPUs
			}
			found, ok = gpu, true
		}
	}
	return found, ok
}
