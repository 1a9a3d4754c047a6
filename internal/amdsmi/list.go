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

// listRecord is what amd-smi list prints about one device.
type listRecord struct {
	index     int
	address   smitext.Address
	unique    string
	partition gpu.Opt[int]
	order     int
	name      string
	aliases   []string
}

// same reports whether a later list shows the same device under this number.
func (l *listRecord) same(o *listRecord) bool {
	return l.index == o.index && l.address == o.address && l.unique == o.unique && l.partition == o.partition
}

// parseList reads the records of amd-smi list. Only -e, since ROCm 6.4, prints card and hip_uuid.
func parseList(records []record) []listRecord {
	list := make([]listRecord, 0, len(records))
	for _, r := range records {
		index, ok := r.integer("gpu")
		if !ok || index >= smidevice.MaxDevices || slices.ContainsFunc(list, func(l listRecord) bool { return l.index == index }) {
			continue
		}
		l := listRecord{
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

// isDRMNode reports whether a name is the name of a DRM node: the prefix and a number.
func isDRMNode(name, prefix string) bool {
	digits, ok := strings.CutPrefix(name, prefix)
	_, err := strconv.ParseUint(digits, 10, 16)
	return ok && err == nil
}
