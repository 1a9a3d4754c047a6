// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// writeReads counts the time up to each read, and keeps the last one of each GPU. A read that is not newer than the last one of its GPU was
// counted, or its time was: it changes nothing, so a read that comes twice, or from two collectors, counts once.
func (b *batch) writeReads(reads []*read, maxGap time.Duration) error {
	last, err := b.lastReads(reads)
	if err != nil {
		return err
	}
	var rows []row
	days := map[time.Time]bool{}
	changed := map[string]bool{}
	for _, r := range reads {
		former := last[r.GPU]
		if former != nil && r.Time <= former.Time {
			continue
		}
		last[r.GPU], changed[r.GPU] = r, true
		if former == nil {
			continue
		}
		for _, a := range bill(former, r, maxGap) {
			for _, part := range a.hours() {
				rows = append(rows, part.row())
				days[part.start.UTC().Truncate(day)] = true
			}
		}
	}
	for _, gpu := range slices.Sorted(maps.Keys(changed)) {
		for _, id := range slices.Sorted(maps.Keys(last[gpu].Devices)) {
			rows = append(rows, last[gpu].gpuRow(id))
		}
		rows = append(rows, last[gpu].row())
	}
	if err := b.writeAll(rows); err != nil {
		return err
	}
	return b.writeDays(days)
}

//go:embed queries/last_reads.sql
var lastReadsQuery string

// lastReads returns the last read of each GPU that has one. No other transaction can change them before this one ends.
func (b *batch) lastReads(reads []*read) (map[string]*read, error) {
	last := map[string]*read{}
	var gpus []string
	for _, r := range reads {
		gpus = append(gpus, r.GPU)
	}
	for chunk := range slices.Chunk(slices.Compact(gpus), maxPlaces) {
		if err := b.addLastReads(last, chunk); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// maxPlaces is how many GPUs one query asks for.
const maxPlaces = 1_000

func (b *batch) addLastReads(last map[string]*read, gpus []string) error {
	lock := ""
	if b.dialect != sqlite { // a SQLite transaction is the only one that writes
		lock = " FOR UPDATE"
	}
	places, arguments := make([]string, len(gpus)), make([]any, len(gpus))
	for i, gpu := range gpus {
		places[i], arguments[i] = b.dialect.place(i+1), gpu
	}
	rows, err := b.tx.QueryContext(b.ctx, fmt.Sprintf(lastReadsQuery, strings.Join(places, ", "), lock), arguments...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var content []byte
		if err := rows.Scan(&content); err != nil {
			return err
		}
		r := &read{}
		if err := json.Unmarshal(content, r); err != nil {
			return err
		}
		last[r.GPU] = r
	}
	return rows.Err()
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
