// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// nodeAlerts are the alerts on nodes and sources, by what happens to a node of two GPUs. Each fires alone, and resolves when it is over.
var nodeAlerts = map[string]struct {
	alerts []string
	play   func(n *alertingNode, alerts []string)

	noOwnMetrics bool // of the collector, over OTLP
}{
	"driver-replaced": {alerts: []string{"GPUUnreachable nvidia0", "GPUUnreachable nvidia1"}, play: func(n *alertingNode, alerts []string) {
		n.install()
		n.start(2)
		n.set("[fault f]\nreturn = LIB_RM_VERSION_MISMATCH")
		n.fires(alerts...)
		require.NoError(n.t, n.control.Write(""))
		touch(n.t, n.library) // a sign of the driver
		n.fires()
	}},
	"never-read": {alerts: []string{"GPUMissing"}, play: func(n *alertingNode, alerts []string) {
		require.NoError(n.t, n.control.Write("[fault f]\ngpu = 1\nkind = lost\nat_start = true"))
		n.install()
		n.start(1)
		n.fires(alerts...)
		n.set("")
		n.fires()
	}},
	"gone": {alerts: []string{"GPUGone"}, play: func(n *alertingNode, alerts []string) {
		n.install()
		n.start(2)
		n.interrupt()
		require.NoError(n.t, n.control.Write("[gpu 1]\npresent = false"))
		n.start(1)
		n.fires(alerts...)
		n.interrupt()
		require.NoError(n.t, n.control.Write(""))
		n.start(2)
		n.fires()
	}},
	"hot": {alerts: []string{"GPUHot nvidia0"}, play: func(n *alertingNode, alerts []string) {
		n.install()
		n.start(2)
		n.set("[gpu 0]\ntlimit.margin = 2")
		n.fires(alerts...)
		n.set("")
		n.fires()
	}},
	"links": {alerts: []string{"GPULinksDown nvidia1"}, play: func(n *alertingNode, alerts []string) {
		n.install()
		n.start(2)
		n.set("[gpu 1]\nlinks.down = 3,4")
		n.fires(alerts...)
		n.set("")
		n.fires()
	}},
	"no-driver":                    {alerts: []string{"GPUNodeUnreadable"}, play: comesLater},
	"no-driver-and-no-own-metrics": {alerts: []string{"GPUSourceUnreadable"}, noOwnMetrics: true, play: comesLater},
}

// comesLater starts a collector without a driver, which is installed later.
func comesLater(n *alertingNode, alerts []string) {
	if onTheBus(n.t, "0x10de") > 0 {
		n.t.Skip("this machine has an NVIDIA GPU, which is missing: GPUMissing fires instead")
	}
	n.start(0)
	n.fires(alerts...)
	n.install()
	n.fires()
}

// rangeAlerts fire on live data, and end with the ranges of their rules: too late for this test. GPU 0 has the first, GPU 1 the second.
var rangeAlerts = []struct{ alert, scenario, ends string }{
	{"GPUUncorrectedErrors", "[gpu 0]\necc.volatile.uncorrected = 3", "15 minutes after the last error"},
	{"GPUXID", "[event x]\ngpu = 1\nxid = 79", "10 minutes after the last XID"},
}

// otherAlerts are provoked by the tests of these names.
var otherAlerts = map[string]string{
	"GPUClusterUnreadable":     "TestClusterWithoutAPIServer",
	"GPURecordsDropped":        "TestFullQueue",
	"GPUQueueNearlyFull":       "TestFullQueue",
	"GPUUsedWithoutAllocation": "TestDocumentedQueries",
}

// slowAlerts are not provoked on live data by a test, for the reason.
var slowAlerts = map[string]string{
	"GPUModePending":             "fires for a mode that has waited for a day",
	"GPUBadPagesAtLimit":         "fires for pages that an AMD GPU has retired, and the nodes of these tests have none",
	"GPUBadPagesNearLimit":       "fires for pages that an AMD GPU has retired, and the nodes of these tests have none",
	"GPUPCIeErrors":              "fires for errors in the machine's own sysfs",
	"GPUPCIeErrorsCorrected":     "fires for errors in the machine's own sysfs",
	"GPUKubernetesEventsDropped": "fires for more Events of one object than are posted",
	"GPUKubernetesRefused":       "fires for rights that the exporter lacks",
	"GPUEventsDropped":           "fires for more than 1,024 events that nobody takes",
	"GPUMemoryNearlyFull":        "fires for memory that grows for half an hour",
	"GPUXIDMinor":                "fires as GPUXID does, for other codes",
	"GPUCorrectedErrors":         "fires after half an hour of corrected errors",
	"GPUECCOff":                  "fires after an hour without counts of errors",
	"GPUBankLowOnSpares":         "fires as GPUBankWithoutSpares does, for other banks",
	"GPULinkErrors":              "fires after half an hour of errors",
	"GPUPCIeLinkDegraded":        "fires for a GPU that was busy for ten minutes",
	"GPUThrottledOften":          "fires for a share of a day",
	"GPUMemoryHot":               "fires as GPUHot does, for the memory",
	"GPUBusyWithoutWork":         "fires for a GPU that was busy for ten minutes",
	"GPUSlowInWorkload":          "fires for four GPUs of a workload that were busy for a quarter of an hour",
	"GPUAllocatedIdle":           "fires after two hours in which a container did not use its GPU",
	"GPUPodsPending":             "fires for pods that have waited for half an hour",
	"GPUNodeNotRead":             "fires a quarter of an hour after the last read of a node",
	"GPUNodeReadOld":             "fires five minutes after the last good read",
}

// TestNodeAlerts: the alerts on nodes and sources fire on live data over OTLP, with the shipped rules, and resolve.
func TestNodeAlerts(t *testing.T) {
	t.Parallel()
	prometheus := shippedOTLP(t, shortDurations)
	if prometheus == "" {
		t.Skip("no Prometheus that takes OTLP")
	}
	for name, c := range nodeAlerts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.play(prepareAlerting(t, name, 2, prometheus, !c.noOwnMetrics), c.alerts)
		})
	}
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		n := prepareAlerting(t, "errors", len(rangeAlerts), prometheus, true)
		n.install()
		n.start(len(rangeAlerts))
		var scenario, alerts []string
		for i, c := range rangeAlerts {
			scenario = append(scenario, c.scenario)
			alerts = append(alerts, fmt.Sprintf("%s nvidia%d", c.alert, i))
		}
		n.set(strings.Join(scenario, "\n"))
		n.fires(alerts...)
	})
}

// TestEveryAlert: each of the shipped alerts is provoked by a test on live data, or it is known why not. test/rules has tests of all.
func TestEveryAlert(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", "alerting.rules.yaml"))
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	var shipped, known []string
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			shipped = append(shipped, rule.Alert)
		}
	}
	for _, c := range stateAlerts {
		known = append(known, c.alert)
	}
	for _, c := range nodeAlerts {
		name, _, _ := strings.Cut(c.alerts[0], " ")
		known = append(known, name)
	}
	for _, c := range rangeAlerts {
		known = append(known, c.alert)
	}
	known = slices.AppendSeq(known, maps.Keys(otherAlerts))
	known = slices.AppendSeq(known, maps.Keys(slowAlerts))
	assert.ElementsMatch(t, shipped, known)
}
