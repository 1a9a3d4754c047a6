// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/otelgpu/gpureceiver/internal/gpu"

// RemappedRows reads the output of --query-remapped-rows=… --format=csv and completes the GPUs of a listing, which it finds by their UUID.
// found is false if the output contains no table.
func RemappedRows(data []byte, asked []string, listing *Listing) (found bool) {
	setters, gpus := rowSetters(), map[string]*GPU{}
	for i := range listing.GPUs {
		if g := &listing.GPUs[i]; g.Device.ID != "" && !g.Unreadable {
			gpus[g.Device.ID] = g
		}
	}
	t := table{asked: asked, known: func(name string) bool { _, ok := setters[name]; return ok }}
	found, _ = t.read(data, func(names []string, cells [][]byte) {
		b := builder{listing: &Listing{}}
		b.begin()
		for i, n := range names {
			if set := setters[n]; set != nil {
				set(&b, cells[i])
			}
		}
		if g := gpus[b.gpu.Device.ID]; g != nil {
			delete(gpus, g.Device.ID) // the first row counts
			g.Device.RemappedRows = b.gpu.Device.RemappedRows
			g.Refusals = append(g.Refusals, b.gpu.Refusals...)
			addRowFaults(&g.Device)
		}
	})
	return found
}

func rowSetters() map[string]setter {
	return map[string]setter{
		"gpu_uuid":                    setID,
		"remapped_rows.correctable":   counterOf("remapped_rows.correctable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Corrected }),
		"remapped_rows.uncorrectable": counterOf("remapped_rows.uncorrectable", func(b *builder) *gpu.Counter[int64] { return &device(b).RemappedRows.Uncorrected }),
		"remapped_rows.pending":       rowFlag("remapped_rows.pending", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Pending }),
		"remapped_rows.failure":       rowFlag("remapped_rows.failure", func(b *builder) *gpu.Opt[bool] { return &device(b).RemappedRows.Failed }),
	}
}

// rowFlag returns a setter of a flag, which this query prints as 0 or 1.
func rowFlag(quantity string, to func(*builder) *gpu.Opt[bool]) setter {
	words := boolOf(quantity, to)
	return func(b *builder, printed []byte) {
		if v, ok := integer(printed, unitCount); ok && v <= 1 {
			*to(b) = gpu.Some(v == 1)
			return
		}
		words(b, printed)
	}
}
