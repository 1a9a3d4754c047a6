// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// callAhead makes the calls of the read before, in one step into C.
func (b *board) callAhead() {
	all := b.forecast(b.plan[:0])
	b.plan = all[:0]
	for _, f := range all {
		if f != fnFields {
			b.prepare(f)
		} else if !b.requestFields(b.fields.next()) {
			continue
		}
		b.plan = append(b.plan, f)
	}
	made := b.batch.run(b.plan...)
	for _, f := range b.plan[:made] {
		b.ahead[f] = true
	}
	if made < len(b.plan) { // the GPU or the driver is gone
		last := b.plan[made-1]
		b.ok(last, b.batch.of(last).code())
	}
}

// readFields asks for all fields at once; again only for what turned out to be found elsewhere.
func (b *board) readFields(*gpu.Device) {
	for range 8 {
		plan := b.fields.next()
		if len(plan) == 0 {
			return
		}
		if !b.foreseen(fnFields) {
			b.requestFields(plan)
			b.batch.run(fnFields)
		}
		if !b.ok(fnFields, b.batch.of(fnFields).code()) {
			return
		}
		for n, v := range b.batch.fields.first(len(plan)) {
			b.fields.take(plan[n], code(v.NvmlReturn), v.ValueType, v.Value)
		}
		b.fields.linked()
	}
}

// requestFields makes the call ready that asks for the planned fields. It tells whether there are any.
func (b *board) requestFields(plan []int) bool {
	if len(plan) == 0 {
		return false
	}
	list := &b.batch.fields
	list.want = len(plan)
	c := b.batch.prepare(fnFields, b.device, int32(len(plan)))
	c.list, _ = list.ready()
	request := list.first(len(plan))
	for n, i := range plan {
		a := b.fields.ask(i)
		request[n] = gonvml.FieldValue{FieldId: a.id, ScopeId: a.scope}
	}
	return true
}
