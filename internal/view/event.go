// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package view

import "time"

// Event is one log record of the receiver.
type Event struct {
	UID        string         `json:"uid"`        // log.record.uid, else one of this collector
	Name       string         `json:"name"`       // hw.gpu.status, hw.gpu.xid and others
	Time       time.Time      `json:"time"`       // of the event
	Observed   time.Time      `json:"observed"`   // when the collector that read it learnt of it
	Severity   string         `json:"severity"`   // INFO, WARN, ERROR, as OTLP has it
	Body       *string        `json:"body"`       // text of the log record
	Node       *string        `json:"node"`       // k8s.node.name, else host.name
	Cluster    *string        `json:"cluster"`    // k8s.cluster.name; null outside clusters
	GPU        *string        `json:"gpu"`        // hw.id
	Attributes map[string]any `json:"attributes"` // as sent
}

// History is the recent past of one quantity of one GPU.
type History struct {
	ID     string         `json:"id"`     // hw.id
	Metric string         `json:"metric"` // name of the metric
	Unit   string         `json:"unit"`   // unit of the values
	Points []HistoryPoint `json:"points"` // by time

	Kept      float64 `json:"kept_seconds"` // how far back the history goes: the setting history
	Shortened bool    `json:"shortened"`    // the request asks for an earlier time than the history goes back to
}

// HistoryPoint is what was read from its time until the time of the next point. A null is a gap: nothing was read then.
type HistoryPoint struct {
	Time  time.Time `json:"time"`  // start of the interval of the point
	Value *float64  `json:"value"` // the mean
	Min   *float64  `json:"min"`   // rounded down to 8 bits unless it is the mean
	Max   *float64  `json:"max"`   // rounded up to 8 bits unless it is the mean
}
