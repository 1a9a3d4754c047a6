// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// attributed returns a node with one GPU whose holders and users are known.
func attributed(d gpu.Device, holders, users []*gpu.Container) *gpu.Node {
	node := nodeOf(d)
	node.Devices[0].HoldersKnown = true
	for _, c := range holders {
		node.Devices[0].Holders = append(node.Devices[0].Holders, gpu.Holder{Container: c})
	}
	for i, c := range users {
		node.Processes = append(node.Processes, gpu.Process{PID: int64(i + 1), DeviceID: d.ID, Container: c})
	}
	return node
}

func podNames(containers []*gpu.Container) []string {
	var names []string
	for _, c := range containers {
		names = append(names, c.PodName)
	}
	slices.Sort(names)
	return names
}

// containersOf returns the holders and users of the device in the only queued event.
func containersOf(t *testing.T, p *Pipeline) (holders, users []string) {
	t.Helper()
	events := slices.DeleteFunc(p.TakeEvents(), func(e gpu.Event) bool { return e.Type != gpu.EventXID })
	require.Len(t, events, 1)
	return podNames(events[0].Holders), podNames(events[0].Users)
}

var (
	train = &gpu.Container{Namespace: "n", PodName: "train", Name: "c", ID: "1"}
	serve = &gpu.Container{Namespace: "n", PodName: "serve", Name: "c", ID: "2"}
)

// An XID between reads has the containers of the last read, also if the GPU does not answer any more.
func TestContainersOfXIDBetweenReads(t *testing.T) {
	p, _, _ := newPipeline(nil)
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 1)})
	e := p.TakeEvents()[0]
	assert.Nil(t, e.Holders, "no read yet")
	assert.Nil(t, e.Users)

	p.Take(t.Context(), attributed(healthy("GPU-1"), []*gpu.Container{train}, []*gpu.Container{train, serve, serve}))
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 2)})
	holders, users := containersOf(t, p)
	assert.Equal(t, []string{"train"}, holders)
	assert.Equal(t, []string{"serve", "train"}, users)

	unread := nodeOf(lost("GPU-1"))
	unread.Devices[0].ProcessesUnread = true
	p.Take(t.Context(), unread) // nor does the kubelet answer
	p.Failed(gpu.Host{Name: "a"}, gpu.NVIDIA, unread.Time, assert.AnError)
	p.TakeEvents()
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 79)})
	holders, users = containersOf(t, p)
	assert.Equal(t, []string{"train"}, holders)
	assert.Equal(t, []string{"serve", "train"}, users)

	p.Take(t.Context(), attributed(healthy("GPU-1"), nil, nil))
	p.TakeEvents()
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 3)})
	e = p.TakeEvents()[0]
	assert.NotNil(t, e.Holders, "known to be nobody")
	assert.Empty(t, e.Holders)
	assert.NotNil(t, e.Users)
	assert.Empty(t, e.Users)

	p.Take(t.Context(), nodeOf())
	p.TakeEvents()
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 4)})
	assert.Nil(t, p.TakeEvents()[0].Holders, "the GPU is another driver's")
}

// An XID that a read finds happened between that read and the one before: it may have ended the program that used the GPU.
func TestContainersOfXIDInARead(t *testing.T) {
	p, _, _ := newPipeline(nil)
	p.Take(t.Context(), attributed(healthy("GPU-1"), []*gpu.Container{train}, []*gpu.Container{train}))
	node := attributed(healthy("GPU-1"), []*gpu.Container{serve}, nil)
	node.Events = []gpu.Event{xidOn("GPU-1", 31)}
	p.Take(t.Context(), node)
	holders, users := containersOf(t, p)
	assert.Equal(t, []string{"serve", "train"}, holders)
	assert.Equal(t, []string{"train"}, users)
}

// An XID on a GPU concerns the containers of its partitions, one on a partition only the containers of the partition.
func TestContainersOfXIDOnPartitions(t *testing.T) {
	p, _, _ := newPipeline(nil)
	part := func(id string) gpu.Device { d := healthy(id); d.Parent = "GPU-1"; return d }
	node := nodeOf(healthy("GPU-1"), part("MIG-1"), part("MIG-2"))
	for i, c := range []*gpu.Container{train, serve} {
		d := &node.Devices[i+1]
		d.HoldersKnown, d.Holders = true, []gpu.Holder{{Container: c}}
		node.Processes = append(node.Processes, gpu.Process{PID: int64(i), DeviceID: d.ID, Container: c})
	}
	p.Take(t.Context(), node)
	p.AddEvents([]gpu.Event{xidOn("MIG-2", 31)})
	holders, users := containersOf(t, p)
	assert.Equal(t, []string{"serve"}, holders)
	assert.Equal(t, []string{"serve"}, users)
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 79)})
	holders, users = containersOf(t, p)
	assert.Equal(t, []string{"serve", "train"}, holders)
	assert.Equal(t, []string{"serve", "train"}, users)
	p.AddEvents([]gpu.Event{xidOn("MIG-1", 13)})
	holders, _ = containersOf(t, p)
	assert.Equal(t, []string{"train"}, holders, "what was known has not changed")
}

// A sum has the containers of all its XIDs.
func TestContainersOfSums(t *testing.T) {
	p, _, _ := newPipeline(nil)
	p.Take(t.Context(), attributed(healthy("GPU-1"), []*gpu.Container{train}, nil))
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 31), xidOn("GPU-1", 31)})
	p.TakeEvents()
	p.Take(t.Context(), attributed(healthy("GPU-1"), []*gpu.Container{serve}, nil))
	p.AddEvents([]gpu.Event{xidOn("GPU-1", 31)})
	events := p.TakeLastEvents()
	require.Len(t, events, 1)
	assert.EqualValues(t, 2, events[0].Count)
	assert.Equal(t, []string{"serve", "train"}, podNames(events[0].Holders))
}

// The containers of one device that are the same are one, however they were found.
func TestSameContainer(t *testing.T) {
	byName := &gpu.Container{Namespace: "n", PodName: "train", Name: "c"}
	assert.Len(t, union([]*gpu.Container{train}, []*gpu.Container{{ID: "1"}, byName, train}), 1)
	assert.Len(t, union([]*gpu.Container{train}, []*gpu.Container{serve, {SlurmJob: "7"}, {SystemdUnit: "u"}}), 4)
	assert.Nil(t, union(nil, nil))
	assert.NotNil(t, union(nil, []*gpu.Container{}))
	assert.NotNil(t, union([]*gpu.Container{}, nil))
}
