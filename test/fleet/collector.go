// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// configuration is the configuration of config/exec.yaml, for a control plane on this machine.
const configuration = `receivers:
  gpu:
    collection_interval: %[1]s
    timeout: %[2]s
    scrapers:
      kubernetes_exec:
        clusters:
          - {name: fleet, endpoint: "https://%[3]s", token_file: %[4]s, ca_file: %[5]s}
        node_labels: [node.kubernetes.io/instance-type, topology.kubernetes.io/zone]
        max_concurrent: %[6]d
%[7]sprocessors:
  memory_limiter: {check_interval: 1s, limit_mib: 480}
  batch: {}
exporters:
  otlp: {endpoint: "%[8]s", tls: {insecure: true}}
extensions:
  pprof: {endpoint: "%[9]s"}
service:
  extensions: [pprof]
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], processors: [memory_limiter, batch], exporters: [otlp]}
`

// startCollectors starts this many replicas. If there are more than one, they share the nodes.
func (f *fleet) startCollectors(o *options, dir, token, endpoint string) ([]*harness.Process, error) {
	shards := ""
	if o.shards > 1 || o.replicas > 1 {
		shards = fmt.Sprintf("        shards: %d\n        leader_election: {lease_namespace: %s}\n", o.shards, ownNamespace)
	}
	var all []*harness.Process
	for i := range o.replicas {
		own := filepath.Join(dir, fmt.Sprintf("replica-%d", i))
		if err := os.Mkdir(own, 0o700); err != nil {
			return all, err
		}
		profile, err := harness.FreeAddress()
		if err != nil {
			return all, err
		}
		text := fmt.Sprintf(configuration, o.interval, min(o.timeout, o.interval), f.layout.NodeIP(), token, f.layout.PKI("ca.crt"), o.concurrent,
			shards, endpoint, profile)
		process, err := harness.Collector(harness.Options{
			Binary: o.collector, Dir: own, Env: []string{fmt.Sprintf("POD_NAME=otel-%d", i)},
		}, text)
		if err != nil {
			return all, err
		}
		all = append(all, process)
		fmt.Fprintf(os.Stderr, "fleet: replica %d is process %d, profiles at http://%s/debug/pprof/\n", i, process.PID(), profile)
	}
	return all, nil
}
