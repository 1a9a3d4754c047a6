// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

// skippedFields are columns that are known but not read. A heading is recognised by them, too.
var skippedFields = []string{
	"timestamp", "pci.domain", "pci.bus", "pci.device", "pci.device_id", "memory.free", "display_mode", "display_active",
}

// columnFields are the fields of every spelling of every column. It is nil for a skipped column.
var columnFields = func() map[string]*Field {
	all := map[string]*Field{}
	for i := range allFields {
		for _, n := range allFields[i].Names {
			all[n] = &allFields[i]
		}
	}
	for _, n := range skippedFields {
		all[n] = nil
	}
	return all
}()

// readRows reads a table of fields, and calls end after each row. bad counts the lines that are neither a row nor a message.
func (b *builder) readRows(data []byte, columns []string, end func()) (found bool, bad int) {
	t := table{
		columns:  columns,
		isColumn: func(name string) bool { _, ok := columnFields[name]; return ok },
		freeText: []string{"name", "gpu_name"},
	}
	return t.read(data, func(names []string, cells [][]byte) {
		b.begin()
		for i, n := range names {
			if f := columnFields[n]; f != nil {
				f.read(b, cells[i])
			}
		}
		end()
	})
}

// QueryGPU reads the output of --query-gpu=… --format=csv, with or without heading and units. columns is the queried columns in order.
// Complete is false if a row could not be read; Dropped counts such rows. found is false if the output contains no table.
func QueryGPU(data []byte, columns []string) (listing *Listing, found bool) {
	b := builder{listing: &Listing{}}
	found, bad := b.readRows(data, columns, b.end)
	b.listing.Dropped += bad
	b.listing.Complete = found && bad == 0
	return b.listing, found
}

// RemappedRows reads the output of --query-remapped-rows=… --format=csv and completes the GPUs of a listing, which it finds by their UUID.
// found is false if the output contains no table.
func RemappedRows(data []byte, columns []string, listing *Listing) (found bool) {
	gpus := map[string]*GPU{}
	for i := range listing.GPUs {
		if g := &listing.GPUs[i]; g.Device.ID != "" && !g.Unreadable {
			gpus[g.Device.ID] = g
		}
	}
	b := builder{listing: &Listing{}}
	found, _ = b.readRows(data, columns, func() {
		if g := gpus[b.gpu.Device.ID]; g != nil {
			delete(gpus, g.Device.ID) // the first row counts
			g.Device.RemappedRows = b.gpu.Device.RemappedRows
			g.Refusals = append(g.Refusals, b.gpu.Refusals...)
			addRowFaults(&g.Device)
		}
	})
	return found
}
