// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// reportColumns are the columns that a report can be by.
var reportColumns = map[string]string{
	"namespace": "k8s_namespace_name",
	"account":   "slurm_job_account",
	"workload":  "k8s_namespace_name, k8s_workload_kind, k8s_workload_name",
	"user":      "slurm_job_user",
	"node":      "k8s_node_name, host_name",
	"model":     "",
	"label":     "labels",
}

// question is what a report asks: the hours from since to until.
type question struct {
	Since, Until time.Time
	By, Label    string
}

// reportRow is a line of a report: the GPU-seconds and joules of one name and model.
type reportRow struct {
	Name        string   `json:"name"`
	Model       string   `json:"model"`
	Held        float64  `json:"held"`
	Used        float64  `json:"used"`
	Idle        float64  `json:"idle"`
	UnknownUse  float64  `json:"unknown_use"`
	Unallocated float64  `json:"unallocated"`
	Unknown     float64  `json:"unknown"`
	Energy      *float64 `json:"energy,omitempty"` // nil if none was read
}

// reportAnswer is what the ledger answers.
type reportAnswer struct {
	Since time.Time   `json:"since"`
	Until time.Time   `json:"until"`
	Rows  []reportRow `json:"rows"`
}

func (q *question) check() error {
	if _, ok := reportColumns[q.By]; !ok {
		return fmt.Errorf("by: must be one of %s", strings.Join(slices.Sorted(maps.Keys(reportColumns)), ", "))
	}
	if (q.By == "label") != (q.Label != "") {
		return errors.New("label: is the name of a label, with by=label only")
	}
	if !q.Since.Before(q.Until) {
		return errors.New("since: must be before until")
	}
	return nil
}

// columnsBy returns the columns that a kind of report groups by.
func columnsBy(dimension string) string {
	if columns := reportColumns[dimension]; columns != "" {
		return columns + ", hw_model"
	}
	return "hw_model"
}

//go:embed queries/report.sql
var reportQuery string

// report answers a question. Rows of an hour count if the hour begins in the time that is asked for.
func (db *database) report(ctx context.Context, q *question) (*reportAnswer, error) {
	days, err := db.rolledDays(ctx, q.Since.UTC(), q.Until.UTC())
	if err != nil {
		return nil, err
	}
	return db.reportOf(ctx, q, days)
}

// reportOf answers a question with the sums of days that are rolled up, and allocations for the other time.
func (db *database) reportOf(ctx context.Context, q *question, days []time.Time) (*reportAnswer, error) {
	since, until := q.Since.UTC().Truncate(time.Hour), q.Until.UTC()
	columns := columnsBy(q.By)
	whole, rest := span{since, until}.divide(days)
	// A day that changes meanwhile still has its rows of before in allocations_daily.
	inHours, arguments := db.dialect.within("hour_time", rest, nil)
	inDays, arguments := db.dialect.within("day_time", whole, arguments)
	query := fmt.Sprintf(reportQuery, "COALESCE("+strings.ReplaceAll(columns, ", ", ", ''), COALESCE(")+", '')", columns, inHours, q.By, inDays)
	rows, err := db.QueryContext(ctx, query, arguments...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	sums := map[[2]string]*reportRow{}
	for rows.Next() {
		var r reportRow
		names := make([]string, strings.Count(columns, ",")+1)
		targets := []any{&r.Held, &r.Used, &r.Idle, &r.UnknownUse, &r.Unallocated, &r.Unknown, &r.Energy}
		for i := range names {
			targets = append(targets, &names[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		r.Model = names[len(names)-1]
		r.Name = q.name(names)
		id := [2]string{r.Name, r.Model}
		if sums[id] == nil {
			sums[id] = &reportRow{Name: r.Name, Model: r.Model}
		}
		sums[id].add(&r)
	}
	answer := &reportAnswer{Since: since, Until: until, Rows: []reportRow{}}
	for _, id := range slices.SortedFunc(maps.Keys(sums), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		answer.Rows = append(answer.Rows, *sums[id])
	}
	return answer, rows.Err()
}

// name returns the name of a line. The last of the columns is the model.
func (q *question) name(columns []string) string {
	switch {
	case q.By == "label":
		labels := map[string]string{}
		_ = json.Unmarshal([]byte(columns[0]), &labels) // without labels it is empty
		for _, prefix := range []string{"", "k8s.pod.label.", "k8s.pod.annotation."} {
			if value, ok := labels[prefix+q.Label]; ok {
				return value
			}
		}
		return ""
	case q.By == "node" && columns[0] != "":
		return columns[0]
	case q.By == "model":
		return columns[0]
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(columns[:len(columns)-1]), func(s string) bool { return s == "" }), "/")
}

func (r *reportRow) add(other *reportRow) {
	r.Held += other.Held
	r.Used += other.Used
	r.Idle += other.Idle
	r.UnknownUse += other.UnknownUse
	r.Unallocated += other.Unallocated
	r.Unknown += other.Unknown
	if other.Energy != nil {
		if r.Energy == nil {
			r.Energy = new(float64)
		}
		*r.Energy += *other.Energy
	}
}
