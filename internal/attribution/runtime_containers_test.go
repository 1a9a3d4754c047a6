// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var (
	web   = hash("web", 64)
	batch = hash("batch", 64)
)

func dockerCgroup(id string) string { return "0::/system.slice/docker-" + id + ".scope\n" }

// docker writes the state file of a container.
func (m *machine) docker(path, id, name string) {
	m.t.Helper()
	data, err := json.Marshal(map[string]any{"ID": id, "Name": "/" + name, "Config": map[string]any{
		"Image": "nginx:1.27", "Labels": map[string]string{"team": "vision", "other": "x"},
	}})
	require.NoError(m.t, err)
	m.file(filepath.Join(path, "containers", id), "config.v2.json", string(data))
}

func newDockerMachine(t *testing.T, path string, change func(*Config)) *machine {
	t.Helper()
	return newMachine(t, func(c *Config) {
		noAPI(c)
		c.Containers = &runtimes.Config{Docker: &runtimes.DockerConfig{Path: path}, Labels: []string{"team"}}
		if change != nil {
			change(c)
		}
	}).start()
}

func dockerContainer(id, name string) *gpu.Container {
	return &gpu.Container{
		ID: id, RuntimeName: name, Runtime: "docker", ImageName: "nginx", ImageTags: []string{"1.27"},
		Labels: map[string]string{"container.label.team": "vision"},
	}
}

// A container has its name, image and labels at the first read, and keeps them: docker rename does not end its series.
func TestDockerContainer(t *testing.T) {
	path := t.TempDir()
	m := newDockerMachine(t, path, noKubelet)
	m.docker(path, web, "web")
	var first *gpu.Container
	for i := range 3 {
		node := nodeOf(device(0))
		p := runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
		m.apply(node, 10)
		assert.Empty(t, node.Problems)
		inDelta(t, 0.3, general(use(t, node, dockerContainer(web, "web"), uuid(0))))
		if i == 0 {
			first = p.Container
			m.docker(path, web, "renamed")
		}
		assert.Same(t, first, node.Processes[0].Container)
	}
}

// A container that no runtime knows yet is its ID alone, which is not a problem. It is looked up again, and its counters go on.
func TestUnknownContainer(t *testing.T) {
	path := t.TempDir()
	m := newDockerMachine(t, path, noKubelet)
	read := func() *gpu.Node {
		node := nodeOf(device(0))
		runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
		return m.apply(node, 10)
	}
	node := read()
	assert.Empty(t, node.Problems)
	since := use(t, node, &gpu.Container{ID: web}, uuid(0)).BusyTime.Since()
	m.docker(path, web, "web")
	for range retryLookup - 1 {
		use(t, read(), &gpu.Container{ID: web}, uuid(0))
	}
	assert.Equal(t, since, use(t, read(), dockerContainer(web, "web"), uuid(0)).BusyTime.Since())
}

// A container in a pod and one in a guest are not looked up: they have names of their own, and a guest's Docker is not this machine's.
func TestOtherContainersAreNotLookedUp(t *testing.T) {
	path := t.TempDir()
	m := newDockerMachine(t, path, noKubelet)
	m.docker(path, train.id(), "wrong")
	m.docker(path, web, "wrong")
	node := nodeOf(device(0))
	run(node, 10, uuid(0), train, 1e9, 0.1)
	runIn(node, 11, uuid(0), "0::/lxc.payload.box/system.slice/docker-"+web+".scope\n", 1e9, 0.1)
	m.apply(node)
	use(t, node, train.used(), uuid(0))
	use(t, node, &gpu.Container{ID: web, RuntimeName: "box"}, uuid(0))
}

// A name does not turn a container into a guest: it is known to hold nothing if the kubelet's allocations are known.
func TestNamedContainerHoldsNothing(t *testing.T) {
	path := t.TempDir()
	m := newDockerMachine(t, path, nil)
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(1))))
	m.docker(path, web, "web")
	node := nodeOf(device(0), device(1))
	runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
	m.apply(node)
	assert.Equal(t, gpu.Some(false), use(t, node, dockerContainer(web, "web"), uuid(0)).Allocated)
}

// What cannot be read is one problem of all containers, as long as one of them runs; they are their IDs alone.
func TestStateFilesCannotBeRead(t *testing.T) {
	m := newDockerMachine(t, t.TempDir(), noKubelet)
	finder := &fakeFinder{err: errors.New("docker: read below /var/lib/docker: permission denied")}
	m.attributor.containers.runtimes = newRuntimeContainers(finder, time.Minute)
	for range 3 {
		node := nodeOf(device(0))
		runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
		runIn(node, 11, uuid(0), dockerCgroup(batch), 4e9, 0.3)
		m.apply(node, 10)
		use(t, node, &gpu.Container{ID: web}, uuid(0))
		require.Len(t, node.Problems, 1)
		assert.Equal(t, gpu.ProblemAllocations, node.Problems[0].Kind)
		require.EqualError(t, node.Problems[0].Err, finder.err.Error())
	}
	assert.Equal(t, []string{web, batch}, finder.queries, "once for each container")
	assert.Empty(t, m.apply(nodeOf(device(0)), 10).Problems)
}

// A lookup that hangs delays one read, by a bounded time. No other starts until it returns.
func TestLookupHangs(t *testing.T) {
	m := newDockerMachine(t, t.TempDir(), noKubelet)
	finder := &fakeFinder{hang: make(chan struct{})}
	m.attributor.containers.runtimes = newRuntimeContainers(finder, lookupTime)
	read := func() *gpu.Node {
		node := nodeOf(device(0))
		runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
		runIn(node, 11, uuid(0), dockerCgroup(batch), 4e9, 0.3)
		return m.apply(node, 10)
	}
	for range 2 * retryLookup {
		node := read()
		use(t, node, &gpu.Container{ID: web}, uuid(0))
		require.Len(t, node.Problems, 1)
		require.ErrorContains(t, node.Problems[0].Err, "no answer within 1s")
	}
	close(finder.hang)
	assert.Eventually(t, func() bool {
		node := read()
		return len(node.Problems) == 0 && node.Processes[0].Container.RuntimeName == "found" && node.Processes[1].Container.RuntimeName == "found"
	}, time.Minute, time.Millisecond)
}

// What is known of containers that are gone is forgotten.
func TestLookupsAreForgotten(t *testing.T) {
	path := t.TempDir()
	m := newDockerMachine(t, path, noKubelet)
	m.docker(path, web, "web")
	node := nodeOf(device(0))
	runIn(node, 10, uuid(0), dockerCgroup(web), 4e9, 0.3)
	m.apply(node)
	assert.Len(t, m.attributor.containers.runtimes.known, 1)
	for range keepContainers + 1 {
		m.apply(nodeOf(device(0)), 10)
	}
	assert.Empty(t, m.attributor.containers.runtimes.known)
}

// fakeFinder knows all containers, unless it has an error.
type fakeFinder struct {
	err     error
	hang    chan struct{}
	queries []string
}

func (f *fakeFinder) Find(_ context.Context, id string) (*runtimes.Description, error) {
	if f.hang != nil {
		<-f.hang
		return &runtimes.Description{Runtime: "docker", Name: "found"}, nil
	}
	f.queries = append(f.queries, id)
	return nil, f.err
}
