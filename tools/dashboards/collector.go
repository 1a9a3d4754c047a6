// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

// collector is the dashboard of the collectors themselves, from their own metrics. If the metrics come over OTLP, units are in their names.
func collector() board {
	const matcher = `job=~"$job", instance=~"$instance"`
	own := func(name, suffix string, matchers ...string) string {
		all := append([]string{`__name__=~"otelcol_` + name + "(" + suffix + `)?"`, matcher}, matchers...)
		return series("", all...)
	}
	maxBy := func(labels, expression string) string {
		return "max by (job, instance, " + labels + ") (" + expression + ")"
	}
	rate := func(name, labels string) string {
		return sum("job, instance, "+labels, "rate("+own(name, "_total")+"[$__rate_interval])")
	}
	const reader = "receiver, scraper, k8s_cluster_name, k8s_node_name, hw_vendor"
	const readerLegend = "{{instance}} {{scraper}} {{k8s_cluster_name}} {{k8s_node_name}} {{hw_vendor}}"
	return board{
		uid: "gpureceiver-collector", title: "GPU collectors",
		description: "The collectors themselves: how reads go, what is sent, what is lost, what they cost. A graph shows the 20 highest values.",
		variables: []variable{ // a gateway reads nothing, and has a queue
			{name: "job", label: "Job", query: `label_values({__name__=~"otelcol_gpu_read_success(_ratio)?|otelcol_exporter_queue_size"}, job)`},
			{name: "instance", label: "Instance", query: `label_values({__name__=~"otelcol_gpu_read_success(_ratio)?|otelcol_exporter_queue_size", job=~"$job"}, instance)`},
		},
		rows: []row{
			{"Now", []panel{
				number("Collectors", "short", ownMetrics, "That report reads.", "count(count by (job, instance) ("+own("gpu_read_success", "_ratio")+"))"),
				number("Reads that fail", "short", ownMetrics, "Sources, nodes and clusters whose last read did not succeed.", sum("", "1 - "+maxBy(reader, own("gpu_read_success", "_ratio")))).limits(0, 1),
				number("Oldest good read", "s", ownMetrics, "Age of the last good read; each node of kubernetes_exec is counted separately.", "max("+own("gpu_read_age", "_seconds")+")").limits(120, 300),
				number("Quantities that cannot be read", "short", ownMetrics, "Each is logged once; kubernetes_exec does not count them.", sum("", maxBy("receiver, scraper", own("gpu_unreadable", "")))).limits(1, 0),
				number("Queues, fullest", "percentunit", ownMetrics, "The sending queue of an exporter.",
					"max("+maxBy("exporter, data_type", own("exporter_queue_size", ""))+" / ("+maxBy("exporter, data_type", own("exporter_queue_capacity", ""))+" > 0))").limits(0.5, 0.8),
				number("Memory", "bytes", ownMetrics, "Resident, of all collectors.", sum("", maxBy("service_name", own("process_memory_rss", "_bytes")))),
			}},
			{"Reads", []panel{
				graph("Duration of reads", "s", ownMetrics, "Of the last read.", query{top(maxBy(reader, own("gpu_read_duration", "_seconds"))), readerLegend}),
				graph("Age of the last good read", "s", ownMetrics, "It grows while reads fail or are skipped.", query{top(maxBy(reader, own("gpu_read_age", "_seconds"))), readerLegend}),
				graph("Success", "short", ownMetrics, "1 if the last read succeeded.", query{lowest(maxBy(reader, own("gpu_read_success", "_ratio"))), readerLegend}),
				graph("Processes that were left out", "short", ownMetrics, "Each second, beyond max_processes.", query{top(rate("gpu_processes_dropped", "receiver")), "{{instance}}"}),
			}},
			{"What is sent, and what is lost", []panel{
				graph("Points sent", "short", ownMetrics, "Each second.", query{top(rate("exporter_sent_metric_points", "exporter")), "{{instance}} {{exporter}}"}),
				graph("Points that could not be sent", "short", ownMetrics, "Each second: given up, or refused for good.", query{top(rate("exporter_send_failed_metric_points", "exporter")), "{{instance}} {{exporter}}"}),
				graph("Queues of each exporter", "percentunit", ownMetrics, "How full the sending queues are.",
					query{top(maxBy("exporter, data_type", own("exporter_queue_size", "")) + " / (" + maxBy("exporter, data_type", own("exporter_queue_capacity", "")) + " > 0)"), "{{instance}} {{exporter}} {{data_type}}"}),
				graph("Events that were dropped", "short", ownMetrics, "Each second.", query{top(rate("gpu_events_dropped", "receiver, scraper")), "{{instance}} {{scraper}}"}),
				graph("Points that were read", "short", ownMetrics, "Each second.", query{top(rate("receiver_accepted_metric_points", "receiver")), "{{instance}} {{receiver}}"}),
			}},
			{"What they cost", []panel{
				graph("CPU of each collector", "short", ownMetrics, "Cores.", query{top(rate("process_cpu_seconds", "service_name")), "{{instance}}"}),
				graph("Memory of each collector", "bytes", ownMetrics, "Resident.", query{top(maxBy("service_name", own("process_memory_rss", "_bytes"))), "{{instance}}"}),
			}},
		},
	}
}
