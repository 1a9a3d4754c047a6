// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func found(findings []view.Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, string(f.Severity)+" "+f.Kind+" "+text(f.Cluster)+"/"+text(f.Node)+"/"+text(f.GPU)+": "+f.Detail)
	}
	return all
}

// Everything that is wrong in the sample fleet, by hand, the worst first.
func TestFindings(t *testing.T) {
	s := viewtest.Snapshot()
	s.Nodes[4].GPUs[3].Containers = []*view.Container{{User: view.User{Namespace: new("ml"), Workload: new("train")}, Allocated: new(true)}}
	all := Findings(s, Scope{}, s.Nodes)
	assert.Equal(t, []string{"ml/train"}, all[0].Workloads)
	page, err := os.ReadFile("../../../docs/operate/alerts.md")
	require.NoError(t, err)
	sections := strings.Fields(strings.ToLower(string(page)))
	assert.Equal(t, []string{
		"error gpu_failed prod/n2/GPU-n2-1: lost; the driver asks for: reboot; since the collector started: XID 79, once: the GPU has fallen off the bus",
		"warning unreadable gone//: kubernetes_exec: timeout",
		"warning stale /workstation/: no data since 2026-11-22T11:56:00Z; before, every 30 s",
		"warning throttled prod/n1/GPU-n1-3: hw_thermal_slowdown",
		"warning unreadable prod/unread/: kubernetes_exec: timeout",
	}, found(all))
	for _, f := range all {
		assert.NotEmpty(t, f.What, f.Kind)
		assert.NotEmpty(t, f.Remedy, f.Kind)
		assert.NotEmpty(t, f.Consequence, f.Kind)
		assert.NotNil(t, f.Workloads, f.Kind)
		_, section, _ := strings.Cut(f.Runbook, "docs/operate/alerts.md#")
		assert.Contains(t, sections, section, f.Kind)
	}
	assert.Equal(t, "Move the node's work away and reboot it.", all[0].Remedy, "what the driver asks for")
}

func TestFindingsOfAScope(t *testing.T) {
	s := viewtest.Snapshot()
	assert.Equal(t, []string{"warning unreadable gone//: kubernetes_exec: timeout"}, found(Findings(s, Scope{Cluster: "gone"}, nil)))
	scope := Scope{Cluster: "prod", Node: "unread"}
	nodes, err := Nodes(s, scope)
	require.NoError(t, err)
	assert.Equal(t, []string{"warning unreadable prod/unread/: kubernetes_exec: timeout"}, found(Findings(s, scope, nodes)))
}

func TestFindingsOfAGPU(t *testing.T) {
	node := &view.Node{Name: "n", State: view.Live}
	for name, c := range map[string]struct {
		change func(n *view.Node, g *view.GPU)
		want   []string
	}{
		"healthy":              {func(*view.Node, *view.GPU) {}, nil},
		"nothing is known":     {func(_ *view.Node, g *view.GPU) { g.Status = nil }, nil},
		"at its power limit":   {func(_ *view.Node, g *view.GPU) { g.Throttled = []string{"sw_power_cap", "sync_boost"} }, nil},
		"hot":                  {func(_ *view.Node, g *view.GPU) { g.Throttled = []string{"sw_power_cap", "thermal_gpu"} }, []string{"warning throttled //g: thermal_gpu"}},
		"hot when last seen":   {func(n *view.Node, g *view.GPU) { n.State, g.Throttled = view.Stale, []string{"thermal_gpu"} }, []string{"warning stale /n/: no data since 0001-01-01T00:00:00Z"}},
		"failed without cause": {func(_ *view.Node, g *view.GPU) { g.Status = new("failed") }, []string{"error gpu_failed //g: the driver names no fault"}},
		"failure predicted":    {func(_ *view.Node, g *view.GPU) { g.Status = new("predicted_failure") }, []string{"warning gpu_degraded //g: the driver names no fault"}},
		"rows wait": {
			func(_ *view.Node, g *view.GPU) { g.RemapStates = []string{"pending"} }, []string{"warning remap //g: remapping pending"},
		},
		"rows wait, and a fault says so": {
			func(_ *view.Node, g *view.GPU) {
				g.Status, g.Faults, g.RemapStates = new("degraded"), []string{"remap_pending"}, []string{"pending"}
			},
			[]string{"warning gpu_degraded //g: remap_pending"},
		},
		"the driver asks for nothing": {func(_ *view.Node, g *view.GPU) { g.RecoveryAction = new("none") }, nil},
		"the driver asks for a reset": {
			func(_ *view.Node, g *view.GPU) { g.RecoveryAction = new("reset") },
			[]string{"warning gpu_degraded //g: the driver names no fault; the driver asks for: reset"},
		},
		"a program's mistake": {
			func(_ *view.Node, g *view.GPU) { g.XIDs = map[string]float64{"31": 2, "79": 0} },
			[]string{
				"info xid //g: since the collector started: XID 31, 2 times: a program accessed an address of device memory that it may not access (page fault)",
			},
		},
		"errors of the GPU": {
			func(_ *view.Node, g *view.GPU) { g.XIDs = map[string]float64{"119": 1, "31": 2, "48": 1} },
			[]string{"warning xid //g: since the collector started: " +
				"XID 31, 2 times: a program accessed an address of device memory that it may not access (page fault); " +
				"XID 48, once: uncorrectable memory error (ECC); XID 119, once: the system processor of the GPU (GSP) did not answer in time"},
		},
		"an XID that nobody knows": {
			func(_ *view.Node, g *view.GPU) { g.XIDs = map[string]float64{"31": 1, "99999": 1, "other": 1} },
			[]string{"warning xid //g: since the collector started: XID 31, once: a program accessed an address of device memory that it may not access (page fault); " +
				"XID 99999, once; XID other, once"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := *node
			g := &view.GPU{ID: "g", Status: new("ok")}
			n.GPUs = []*view.GPU{g}
			c.change(&n, g)
			assert.Equal(t, c.want, found(Findings(&view.Snapshot{}, Scope{}, []*view.Node{&n})))
		})
	}
}

// The page of a fleet has no sign on a GPU that only keeps its power limit.
func TestThrottledByDesign(t *testing.T) {
	for reason, slowed := range map[string]bool{"sw_power_cap": false, "sync_boost": false, "power": false, "hw_thermal_slowdown": true, "thermal_gpu": true} {
		assert.Equal(t, slowed, (&view.GPU{Throttled: []string{reason}}).Slowed(), reason)
	}
	assert.False(t, (&view.GPU{}).Slowed())
	assert.True(t, (&view.GPU{Throttled: []string{"sw_power_cap", "thermal_gpu"}}).Slowed())
}

// Each fault and each reason that the receiver knows has a remedy of its own.
func TestEveryFaultAndReasonHasARemedy(t *testing.T) {
	for fault := range gpu.NumFaultTypes {
		r := gpu.RemedyFor(fault)
		assert.Equal(t, r.Text(), remedyOfFaults(r.Name))
	}
	for r := range gpu.NumFailureReasons {
		name := record.FailureName(r)
		if name != "_OTHER" {
			assert.NotEqual(t, remedyOfReason("_OTHER"), remedyOfReason(name), name)
		}
	}
}

// Without the driver's library the GPUs of the bus are missing for that reason alone: one finding, with the remedy that fits.
func TestFindingsWithoutLibrary(t *testing.T) {
	n := &view.Node{
		Name: "n", State: view.Live, Missing: new(2),
		Sources: []view.Source{{Name: "amdgpu", Vendor: new("AMD"), Readable: true}, {Name: "nvml", Vendor: new("NVIDIA"), Reasons: []string{"library"}}},
	}
	all := Findings(&view.Snapshot{}, Scope{}, []*view.Node{n})
	assert.Equal(t, []string{"warning unreadable /n/: nvml: library"}, found(all))
	assert.Contains(t, all[0].Remedy, "Install the GPU driver")
	assert.Contains(t, all[0].Remedy, "NVIDIA_VISIBLE_DEVICES=all")

	n.GPUs = []*view.GPU{{ID: "g", Status: new("ok"), Vendor: new("AMD")}}
	assert.Len(t, Findings(&view.Snapshot{}, Scope{}, []*view.Node{n}), 2, "a GPU of the vendor that can be read may be missing, too")
}
