// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// gateway: the agent sends to a gateway with the shipped configuration. Its API shows the containers and processes that the test created, and
// what it passes on is what the agent sends otherwise.
func (w *world) gateway(t *testing.T, owners string) {
	backend, stop, err := w.sink.ServeGRPC()
	require.NoError(t, err)
	defer stop()
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "config", "gateway.yaml"))
	require.NoError(t, err)
	g, err := harness.StartGateway(harness.Options{Binary: binary(t), Dir: t.TempDir()}, file, backend)
	require.NoError(t, err)
	defer func() {
		code, _, err := g.Interrupt(30 * time.Second)
		require.NoError(t, err)
		assert.Zero(t, code)
		if t.Failed() {
			t.Logf("the gateway:\n%s", g.Output())
		}
	}()
	w.stopCollector(t)
	w.outlet = g.HTTP
	w.startCollector(t, askKubelet, processes, owners)
	w.expect(t)
	w.requireShown(t, g)
	w.stopCollector(t)
	w.outlet = w.sink.URL
	w.startCollector(t, askKubelet, processes, owners)
	w.expect(t)
}

// requireShown waits until the API shows exactly the expected picture, and requires that sums and the page fit it.
func (w *world) requireShown(t *testing.T, g *harness.Gateway) {
	t.Helper()
	want, err := w.expected(t.Context())
	require.NoError(t, err)
	want = topOwners(want)
	var node view.Node
	var got picture
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := g.Read(t.Context(), "/api/v1/gpu/nodes/"+cluster.NodeName, &node)
		if got = shown(&node); err == nil && slices.Equal(want, got) {
			break
		}
		if time.Since(start) > patience {
			require.NoError(t, err)
			require.Equal(t, want.String(), got.String())
		}
	}
	assert.Equal(t, view.Live, node.State)
	assert.Equal(t, gpus, *node.GPUCount)
	assert.Len(t, node.GPUs, gpus+2)
	for _, gpu := range node.GPUs {
		assert.Equal(t, "ok", *gpu.Status, gpu.ID)
	}

	var sums view.List[view.Summary]
	require.NoError(t, g.Read(t.Context(), "/api/v1/gpu/summary", &sums))
	require.Len(t, sums.Items, 1)
	assert.Equal(t, 1, sums.Items[0].Nodes)
	assert.Equal(t, gpus, sums.Items[0].GPUs, "partitions are parts")

	var train view.List[*view.Process]
	require.NoError(t, g.Read(t.Context(), "/api/v1/gpu/processes?pod=train&namespace="+w.namespace, &train))
	require.Len(t, train.Items, 1)
	assert.Equal(t, process(t, "train", "main").pid, train.Items[0].PID)

	var workloads view.List[view.Workload]
	require.NoError(t, g.Read(t.Context(), "/api/v1/gpu/workloads?namespace="+w.namespace, &workloads))
	names := map[string]int{}
	for _, workload := range workloads.Items {
		names[workload.Name]++
	}
	for _, name := range []string{"train", "wide", "serve", "nightly"} {
		assert.Equal(t, 1, names[name], name)
	}

	status, body, err := g.Get(t.Context(), "/")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, string(body), "<html", "the page")
}

// ownersOf are the owners of a line of a picture. The topmost one is marked.
var ownersOf = regexp.MustCompile(` owners=\[([^\]]*top:([^ \]]+))?[^\]]*\]`)

// topOwners leaves the topmost owner of each line, which is the one that the view shows.
func topOwners(p picture) picture {
	lines := make(picture, len(p))
	for i, line := range p {
		lines[i] = ownersOf.ReplaceAllString(line, " owner=$2")
	}
	slices.Sort(lines)
	return lines
}

// shown returns the picture that the API shows, with the topmost owners.
func shown(node *view.Node) picture {
	var lines picture
	for _, g := range node.GPUs {
		for _, c := range g.Containers {
			how := "held=0"
			if c.Allocated != nil && *c.Allocated {
				how = fmt.Sprintf("held=1 %s %s %s", known(c.Resource), known(c.Allocator), known(c.Sharing))
			}
			lines = append(lines, fmt.Sprintf("%s: %s %s memory=%.0f", bearer(&c.User), g.ID, how, used(c.Memory)))
		}
		for _, p := range g.Processes {
			lines = append(lines, fmt.Sprintf("process %d: %s %s memory=%.0f", p.PID, bearer(&p.User), g.ID, used(p.Memory)))
		}
	}
	slices.Sort(lines)
	return lines
}

// bearer describes who holds or uses a GPU as a picture does.
func bearer(u *view.User) string {
	if u.Pod == nil && u.PodUID == nil && u.ContainerID == nil {
		return "none"
	}
	owner := ""
	if u.Workload != nil {
		owner = known(u.WorkloadKind) + "/" + *u.Workload
	}
	return fmt.Sprintf("%s/%s/%s uid=%s id=%s owner=%s", known(u.Namespace), known(u.Pod), known(u.Container), known(u.PodUID), known(u.ContainerID), owner)
}

func known(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func used(memory *float64) float64 {
	if memory == nil {
		return -1
	}
	return *memory
}
