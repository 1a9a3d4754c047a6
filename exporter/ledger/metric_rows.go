// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// writeReads counts the time up to each read, and keeps the last one of each GPU. A read that is not newer than the last one of its GPU was
// counted, or its time was: it changes nothing, so a read that comes twice, or from two collectors, counts once.
func (b *batch) writeReads(reads []*read, maxGap time.Duration) error {
	days := map[time.Time]bool{}
	for len(reads) > 0 {
		n := 1
		for n < len(reads) && reads[n].GPU == reads[0].GPU {
			n++
		}
		if err := b.writeReadsOfGPU(reads[:n], maxGap, days); err != nil {
			return err
		}
		reads = reads[n:]
	}
	return b.writeDays(days)
}

func (b *batch) writeReadsOfGPU(reads []*read, maxGap time.Duration, days map[time.Time]bool) error {
	last, err := b.lastRead(reads[0].GPU)
	if err != nil {
		return err
	}
	former := last
	for _, r := range reads {
		if former != nil && r.Time <= former.Time {
			continue
		}
		if former != nil {
			for _, a := range bill(former, r, maxGap) {
				for _, part := range a.hours() {
					if err := b.write(part.row()); err != nil {
						return err
					}
					days[part.start.UTC().Truncate(day)] = true
				}
			}
		}
		former = r
	}
	if former == last {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(former.Devices)) {
		if err := b.write(former.gpuRow(id)); err != nil {
			return err
		}
	}
	return b.write(former.row())
}

//go:embed queries/last_read.sql
var lastReadQuery string

// lastRead returns the last read of a GPU, nil if there is none. No other transaction can change it before this one ends.
func (b *batch) lastRead(gpu string) (*read, error) {
	lock := ""
	if b.dialect != sqlite { // a SQLite transaction is the only one that writes
		lock = " FOR UPDATE"
	}
	var content string
	err := b.queryText(&content, fmt.Sprintf(lastReadQuery, b.dialect.place(1), lock), gpu)
	if err != nil || content == "" {
		return nil, err
	}
	var r read
	if err := json.Unmarshal([]byte(content), &r); err != nil {
		return nil, err
	}
	return &r, nil
}

func (r *read) row() row {
	return row{gpuReads, map[string]any{"hw_id": r.GPU, "read_time": timeText(r.Time.AsTime()), "content": jsonText(r)}}
}

func (r *read) gpuRow(id string) row {
	timestamp := timeText(r.Time.AsTime())
	values := maps.Clone(r.Devices[id].Columns)
	values["hw_id"], values["first_seen"], values["last_seen"] = id, timestamp, timestamp
	return row{gpus, values}
}

func (a *amount) row() row {
	values := map[string]any{
		"hw_id": a.device, "holder": a.holder, "hour_time": timeText(a.start.UTC().Truncate(time.Hour)),
		"start_time": timeText(a.start), "end_time": timeText(a.end), "share": a.share, "held_time": a.heldTime, "busy_time": a.busy,
		"idle_time": a.idle, "unknown_use_time": a.unknownUse, "unallocated_time": a.unallocated, "unknown_time": a.unknown,
	}
	if a.energy != nil {
		values["energy"] = *a.energy
	}
	if a.memory != nil {
		values["memory_peak"] = *a.memory
	}
	for _, columns := range a.columns {
		maps.Copy(values, columns)
	}
	return row{allocations, values}
}
