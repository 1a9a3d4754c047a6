// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stopInterval is a collection_interval so short that most stops come while metrics are delivered.
const stopInterval = 100 * time.Millisecond

// The configurations of `make demo` and `make run` end cleanly each time. Their file exporter is one object for metrics and logs, and the Collector
// stops the two chains in an order that differs from stop to stop: the exporter crashes if metrics arrive after its logs half was stopped.
// GPURECEIVER_STOPS is the number of stops of each configuration.
func TestStops(t *testing.T) {
	t.Parallel()
	stops, err := strconv.Atoi(cmp.Or(os.Getenv("GPURECEIVER_STOPS"), "20"))
	require.NoError(t, err)
	for _, example := range []string{"demo.yaml", "run.yaml"} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			d := newDemo(t, example)
			d.options.Env = append(d.options.Env, "LD_LIBRARY_PATH="+simulator(t).Dir) // run.yaml names no library
			output := filepath.Join(d.dir, "demo-output", "otlp.jsonl")
			for i := range stops {
				t.Run(strconv.Itoa(i+1), func(t *testing.T) {
					require.NoError(t, os.RemoveAll(output)) // what the last one has written
					process := d.start(t, binary(t), "--config", d.config,
						"--config=yaml:receivers::gpu: {collection_interval: "+stopInterval.String()+", timeout: "+stopInterval.String()+"}")
					eventually(t, patience, "GPUs in the file", func() bool { return !process.Running() || len(d.written(t)) > 0 })
					require.True(t, process.Running())
					time.Sleep(rand.N(stopInterval)) // so that stops come at all points of a read
					code, _, err := process.Interrupt(endsWithin)
					require.NoError(t, err)
					assert.Zero(t, code)
				})
			}
		})
	}
}
