// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// sources returns the states of the sources of a node or a cluster, by name and vendor.
func sources(r *readings, f *fields) []view.Source {
	shown := []view.Source{}
	for number, value := range r.values {
		if key := f.key(number); key.metric.name == metadata.MetricsInfo.HwGpuSourceReadable.Name {
			shown = append(shown, view.Source{Name: key.label(attrSource), Vendor: key.optional(attrVendor), Readable: value == 1, Reasons: []string{}})
		}
	}
	for number, value := range r.values {
		key := f.key(number)
		if key.metric.name != metadata.MetricsInfo.HwGpuSourceFailure.Name || value != 1 {
			continue
		}
		for i := range shown {
			if s := &shown[i]; s.Name == key.label(attrSource) && compare(s.Vendor, key.optional(attrVendor)) == 0 {
				s.Reasons = append(s.Reasons, key.label(attrErrorType))
			}
		}
	}
	for i := range shown {
		slices.Sort(shown[i].Reasons)
	}
	slices.SortFunc(shown, func(a, b view.Source) int { return cmp.Or(cmp.Compare(a.Name, b.Name), compare(a.Vendor, b.Vendor)) })
	return shown
}

// readable reports whether the GPUs of each vendor can be read by some source. It is nil if there is no source.
func readable(sources []view.Source) *bool {
	if len(sources) == 0 {
		return nil
	}
	vendors := map[string]bool{}
	for _, s := range sources {
		vendor := ""
		if s.Vendor != nil {
			vendor = *s.Vendor
		}
		vendors[vendor] = vendors[vendor] || s.Readable
	}
	all := true
	for _, one := range vendors {
		all = all && one
	}
	return &all
}
