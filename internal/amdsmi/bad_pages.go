// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// badPages returns how many pages of a device's memory are bad, from its record of amd-smi bad-pages: retired pages, pages that wait for
// retirement, and pages that cannot be retired. Each is a list, an object if it has one page, and "No bad pages found." if it is empty. All
// are "N/A" if the driver does not report them.
func badPages(r record) gpu.Opt[int64] {
	var pages int64
	for _, key := range [...]string{"retired", "pending", "un_res"} {
		switch v := r[key].(type) {
		case []any:
			pages += int64(len(v))
		case map[string]any:
			pages++
		case string:
			if !strings.HasPrefix(strings.ToLower(v), "no bad pages") {
				return gpu.Opt[int64]{}
			}
		default:
			return gpu.Opt[int64]{}
		}
	}
	return gpu.Some(pages)
}

// addBadPages adds what bad-pages printed to what static did. ROCm 6.1 prints that it found no bad pages if it could not look, as on a
// board that does not count them: then static knows nothing of them either.
func addBadPages(static map[int]staticInfo, records []record) {
	for _, r := range records {
		index, _ := r.integer("gpu")
		s, known := static[index]
		pages := badPages(r)
		if known && (s.ras || pages != gpu.Some[int64](0)) {
			s.device.RetiredPages.Bad = pages
			static[index] = s
		}
	}
}
