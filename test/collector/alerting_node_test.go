// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

var durations = regexp.MustCompile(`(?m)^( +for:) .+$`)

// shortDurations lets alerts wait for a second before they fire. Nothing else of the rules changes.
func shortDurations(rules []byte) []byte { return durations.ReplaceAll(rules, []byte("$1 1s")) }

// alertingNode is a simulated node with a name and GPUs of its own. Its collector has config/agent.yaml, and sends to Prometheus over OTLP.
type alertingNode struct {
	*node
	name, library string
	shipped       shipped
	prometheus    []string // addresses; each knows its alerts
}

// prepareAlerting creates a node on which nothing runs yet. Its collector sends its own metrics to Prometheus, too, if ownMetrics says so.
func prepareAlerting(t *testing.T, name string, gpus int, prometheus string, ownMetrics bool) *alertingNode {
	t.Helper()
	// Alerts join series by hw.id.
	scenario := fmt.Sprintf("gpus = %d\n[gpu *]\nuuid = %s/{i}\n", gpus, name)
	n := &alertingNode{node: prepare(t, spec{scenario: scenario}), name: name}
	if prometheus != "" {
		n.prometheus = []string{prometheus}
	}
	n.library = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	n.shipped = shipped{
		configs:  []string{"agent.yaml"},
		interval: "1s",
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", n.library),
		more:     sending(prometheus, ownMetrics),
		env:      append(n.environment(), "K8S_NODE_NAME="+name, "HOSTNAME="+name),
	}
	return n
}

// start starts the collector, and returns when all GPUs are read that the driver has.
func (n *alertingNode) start(gpus int) {
	n.t.Helper()
	n.page, n.process = n.shipped.start(n.t, n.dir, n.sink)
	n.next(fmt.Sprintf("%d GPUs", gpus), func(points harness.Points) bool { return len(points.Select("hw.power")) == gpus })
}

// install installs the driver's library.
func (n *alertingNode) install() {
	n.t.Helper()
	install(n.t, simulator(n.t).Full, n.library)
}

// fires waits until exactly these alerts fire for the node, in each Prometheus.
func (n *alertingNode) fires(want ...string) {
	n.t.Helper()
	want = slices.Sorted(slices.Values(want))
	for _, address := range n.prometheus {
		for startedAt := time.Now(); ; time.Sleep(tick) {
			got := n.alerts(address, `ALERTS{alertstate="firing"}`, time.Now())
			if slices.Equal(got, want) {
				break
			}
			require.Less(n.t, time.Since(startedAt), patience, "%s: want %v, have %v", n.name, want, got)
		}
	}
}

// alerts returns the alerts of a query at a time that concern the node, with the name of the GPU if they have one.
func (n *alertingNode) alerts(address, query string, now time.Time) []string {
	n.t.Helper()
	all := map[string]bool{}
	for _, labels := range labelsAt(n.t, address, query, now) {
		if labels["k8s_node_name"] == n.name || labels["instance"] == n.name {
			all[strings.TrimSpace(labels["alertname"]+" "+labels["hw_name"])] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// alertsSince returns the alerts, pending ones too, of all evaluations for a time after since. There has been one of each rule when it returns.
func (n *alertingNode) alertsSince(address string, since time.Time) []string {
	n.t.Helper()
	evaluated(n.t, address, since)
	now := time.Now()
	return n.alerts(address, fmt.Sprintf(`count_over_time(ALERTS[%dms])`, now.Sub(since).Milliseconds()), now)
}

// evaluated waits for an evaluation of every rule for a time after since.
func evaluated(t *testing.T, address string, since time.Time) {
	t.Helper()
	eventually(t, patience, "an evaluation", func() bool {
		code, body, err := harness.Get(t.Context(), "http://"+address+"/api/v1/rules")
		require.NoError(t, err)
		require.Equal(t, 200, code, body)
		var answer struct {
			Data struct {
				Groups []struct {
					Interval       float64   `json:"interval"`
					LastEvaluation time.Time `json:"lastEvaluation"` // the start of the evaluation; it is for that time, or less than the interval before
				} `json:"groups"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		require.NotEmpty(t, answer.Data.Groups)
		for _, group := range answer.Data.Groups {
			if group.LastEvaluation.Before(since.Add(time.Duration(group.Interval * float64(time.Second)))) {
				return false
			}
		}
		return true
	})
}
