// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
)

// node is a device node of a GPU.
type node struct {
	name string // nvidia0, card1, renderD129; empty for a MIG instance's guard
	cap  int64  // the minor number of the guard
}

// instance is what a MIG guard is for.
type instance struct {
	name    string // nvidia0/gi1 or nvidia0/gi1/ci0
	compute bool
}

// parseNode tells whether a path is that of a GPU's device node, wherever the driver's files have their root.
func parseNode(file string) (node, bool) {
	dir, name := path.Split(file)
	if path.Base(dir) == "nvidia-caps" {
		minor, ok := number(name, "nvidia-cap")
		return node{cap: minor}, ok
	}
	for _, prefix := range []string{"nvidia", "card", "renderD"} {
		if _, ok := number(name, prefix); ok {
			return node{name: name}, true
		}
	}
	return node{}, false
}

// number reads prefix<number>.
func number(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || digits == "" || len(digits) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return int64(n), err == nil
}

// names returns what a device's nodes stand for. With the guard of a MIG compute instance, the node of its GPU beside it
// does not stand for the GPU. A guard that is not known leaves nothing: the GPU as a whole is not what was given.
func (r *Registry) names(nodes []node) []string {
	var names, instances []string
	guarded := false
	for _, n := range nodes {
		if n.name != "" {
			names = append(names, n.name)
			continue
		}
		guarded = true
		if i, ok := r.instance(n.cap); ok && i.compute {
			instances = append(instances, i.name)
		}
	}
	if guarded {
		return instances
	}
	return names
}

// instance looks up a guard by its minor number. The driver's table is the same for as long as it is loaded.
func (r *Registry) instance(minor int64) (instance, bool) {
	if i, ok := r.table[minor]; ok {
		return i, true
	}
	data, err := os.ReadFile(r.minors)
	if err != nil || len(data) > maxSpec {
		return instance{}, false
	}
	r.table = parseMinors(data)
	i, ok := r.table[minor]
	return i, ok
}

// parseMinors reads lines as gpu0/gi1/ci0/access 12 and gpu0/gi1/access 11; the GPU's number is that of its device node.
func parseMinors(data []byte) map[int64]instance {
	table := make(map[int64]instance)
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) != 2 {
			continue
		}
		minor, ok := number(fields[1], "")
		parts := strings.Split(fields[0], "/")
		if !ok || len(parts) < 3 || len(parts) > 4 || parts[len(parts)-1] != "access" {
			continue
		}
		valid := true
		for i, prefix := range []string{"gpu", "gi", "ci"}[:len(parts)-1] {
			if _, ok := number(parts[i], prefix); !ok {
				valid = false
			}
		}
		if valid {
			name := "nvidia" + strings.TrimPrefix(strings.Join(parts[:len(parts)-1], "/"), "gpu")
			table[minor] = instance{name: name, compute: len(parts) == 4}
		}
	}
	return table
}
