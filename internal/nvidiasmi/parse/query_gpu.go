// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

// skippedFields are columns that are known but not read. A heading is recognised by them, too.
var skippedFields = []string{
	"timestamp", "pci.domain", "pci.bus", "pci.device", "pci.device_id", "memory.free", "display_mode", "display_active",
}

// fieldSetters returns the setter of every spelling of every column. It is nil for a skipped column.
func fieldSetters() map[string]setter {
	all := map[string]setter{}
	for _, f := range Fields() {
		for _, n := range f.Names {
			all[n] = f.set
		}
	}
	for _, n := range skippedFields {
		all[n] = nil
	}
	return all
}

// QueryGPU reads the output of --query-gpu=… --format=csv, with or without heading and units. asked is the queried columns in order.
// Complete is false if a row could not be read; Dropped counts such rows. found is false if the output contains no table.
func QueryGPU(data []byte, asked []string) (listing *Listing, found bool) {
	b := builder{listing: &Listing{}}
	setters := fieldSetters()
	t := table{
		asked:    asked,
		known:    func(name string) bool { _, ok := setters[name]; return ok },
		freeText: []string{"name", "gpu_name"},
	}
	found, bad := t.read(data, func(names []string, cells [][]byte) {
		b.begin()
		for i, n := range names {
			if set := setters[n]; set != nil {
				set(&b, cells[i])
			}
		}
		b.end()
	})
	b.listing.Dropped += bad
	b.listing.Complete = found && bad == 0
	return b.listing, found
}
