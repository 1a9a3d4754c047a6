// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import "time"

// waits bound how long a receiver waits for what may never come.
type waits struct {
	nodeLabels  time.Duration // of a start, for the labels of this node: it is not an error if the API server does not answer
	clusterList time.Duration // for the first lists of a cluster, which counts as unreachable then
	// podQueue is how long the changes of pods wait for room: client-go's queue has no bound. Then, until the pipeline accepts events
	// again, the oldest events are dropped, as in a pipeline that accepts no events.
	podQueue time.Duration

	// A read that hangs in the driver is left behind after read; a delivery that hangs in a consumer, and a driver that cannot be released,
	// after release. Both count from the shutdown of the first receiver of a configuration. Each wait that starts later lasts at least
	// later.
	read, release, later time.Duration
	delivery             time.Duration // of a shutdown, for the consumer of events; what is left stays in the storage
	storage              time.Duration // for the end of the storage
}

func defaultWaits() waits {
	return waits{
		nodeLabels: 2 * time.Second, clusterList: 10 * time.Second, podQueue: 30 * time.Second,
		read: 1300 * time.Millisecond, release: 1800 * time.Millisecond, later: 50 * time.Millisecond,
		delivery: time.Second, storage: 5 * time.Second,
	}
}
