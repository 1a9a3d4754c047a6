// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// The builders that mdatagen generates set the schema URL of the resource only. The metrics and events are in the scope, so
// everything that they emit passes here.

// metricsWithSchema gives each scope the schema URL of its resource.
func metricsWithSchema(metrics pmetric.Metrics) pmetric.Metrics {
	for _, rm := range metrics.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			sm.SetSchemaUrl(rm.SchemaUrl())
		}
	}
	return metrics
}

// logsWithSchema gives each scope the schema URL of its resource.
func logsWithSchema(logs plog.Logs) plog.Logs {
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.SetSchemaUrl(rl.SchemaUrl())
		}
	}
	return logs
}
