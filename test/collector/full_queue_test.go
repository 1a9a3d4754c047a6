// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"testing"
)

// The backend is away and the queue short: with the shipped rules it is an alert that the queue is nearly full, and another that data are
// lost, by the collector's own metrics as a real Prometheus scrapes them.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	tool(t, "prometheus")
	n := prepareAlerting(t, "queueing", 1, "", false)
	n.install()
	n.shipped.more = "exporters: {otlp_grpc: {endpoint: '" + freeAddress(t) + "', sending_queue: {queue_size: 4, num_consumers: 1}}}"
	n.page, n.process = n.shipped.start(t, n.dir, n.sink)
	address := scrapingPrometheus(t, "global: {evaluation_interval: 1s}\nrule_files: ["+shippedRules(t, shortDurations)+"/*.rules.yaml]", n.shipped.telemetry)
	for _, alert := range []string{
		`ALERTS{alertname="GPUQueueNearlyFull", alertstate="firing", exporter="otlp_grpc", data_type="metrics"}`,
		`ALERTS{alertname="GPURecordsDropped", alertstate="firing", exporter="otlp_grpc"}`,
	} {
		becomes(t, address, "count("+alert+")", 1)
	}
	eventually(t, patience, "two alerts", func() bool { return len(alerts(t, address)) == 2 })
}
