// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import "fmt"

// DecodePartition decodes the table of a single partition (xcp_metrics): 1.1 describes itself, 1.0 does not.
func (d *Decoder) DecodePartition(text []byte) (PartitionActivity, error) {
	revision, text, err := header("xcp_metrics", text)
	if err != nil {
		return PartitionActivity{}, err
	}
	switch revision {
	case Revision{1, 0}:
		if len(text) != d.partition.size {
			return PartitionActivity{}, fmt.Errorf("xcp_metrics v1.0: %d bytes is not the size of this revision: %w", len(text), ErrFormat)
		}
		return fields{text, d.partition}.activity(), nil
	case Revision{1, 1}:
		all, err := attributes(text)
		if err != nil {
			return PartitionActivity{}, fmt.Errorf("xcp_metrics v1.1: %w", err)
		}
		var p PartitionActivity
		for i := range all {
			switch a := &all[i]; a.id {
			case attributeGFXBusy:
				p.GFX = meanActivity(a.values)
			case attributeJPEGBusy:
				p.JPEG = meanActivity(a.values)
			case attributeVideoBusy:
				p.Video = meanActivity(a.values)
			}
		}
		return p, nil
	}
	return PartitionActivity{}, fmt.Errorf("xcp_metrics %v: %w", revision, ErrRevision)
}
