// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// listEntry is what amd-smi list says of one device: which it is.
type listEntry struct {
	index     int
	address   smitext.Address
	unique    string
	partition gpu.Opt[int]
	order     int
	name      string
	aliases   []string
}

// same tells whether a later list shows the same device under the number.
func (l *listEntry) same(o *listEntry) bool {
	return l.index == o.index && l.address == o.address && l.unique == o.unique && l.partition == o.partition
}

// parseList reads the records of amd-smi list. card and hip_uuid are there with -e only, since ROCm 6.4.
func parseList(records []record) []listEntry {
	list := make([]listEntry, 0, len(records))
	for _, r := range records {
		index, ok := r.integer("gpu")
		if !ok || index >= smidevice.MaxDevices || slices.ContainsFunc(list, func(l listEntry) bool { return l.index == index }) {
			continue
		}
		l := listEntry{
			index:  index,
			unique: cmp.Or(smitext.HIPUUID(r.text("hip_uuid")), smitext.UUIDSerial(r.text("uuid"))),
			name:   "gpu" + strconv.Itoa(index),
		}
		if r.text("uuid") != smitext.BlankUUID {
			l.address, _ = smitext.ParseAddress(r.text("bdf"))
		}
		if n, ok := r.integer("partition_id"); ok && n < smidevice.MaxDevices {
			l.partition = gpu.Some(n)
		}
		if n, ok := r.integer("node_id"); ok {
			l.order = n
		}
		if card := r.text("card"); isDRMNode(card, "card") {
			l.name = card
			l.aliases = append(l.aliases, card)
		}
		if render := r.text("render"); isDRMNode(render, "renderD") {
			l.aliases = append(l.aliases, render)
		}
		list = append(list, l)
	}
	return list
}

// isDRMNode tells the name of a DRM node.
func isDRMNode(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(digits, 10, 16)
	return ok && err == nil
}
