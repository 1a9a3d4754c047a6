// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// Nodes fail, are renamed, set their clocks and restart their collectors, GPUs move between them, and messages come late, twice or not
// at all: nothing is shown twice or invented, and when all is well again what is shown is what is there.
func TestRandomHistories(t *testing.T) {
	plan := histories.Plan{Seed: 1, Histories: 3, Rounds: 30}
	histories.Each(t, plan, func(_ *testing.T, h *histories.History) { h.Play(newWorld(h.Rand)) })
}

const worldInterval = 10 * time.Second

// world is a few nodes that send to a fleet over a bad network.
type world struct {
	rng    *rand.Rand
	fleet  *Fleet
	watch  *watch
	page   page
	nodes  []*worldNode
	late   []delivery
	watts  float64                     // each value is sent once
	values map[string]map[float64]bool // by hw.id
	bad    bool                        // the network
	twice  pmetric.Metrics
	number int
}

type delivery struct {
	time    time.Time
	message pmetric.Metrics
}

type worldNode struct {
	*machine
	skew   time.Duration
	set    time.Time // when the clock was set last
	failed bool
	whole  gpu.Node // what is there
}

func newWorld(rng *rand.Rand) *world {
	w := &world{rng: rng, values: map[string]map[float64]bool{}, twice: pmetric.NewMetrics()}
	w.fleet, w.watch = newTestFleet(Settings{GoneAfter: 10 * time.Minute})
	for _, name := range []string{"a", "b", "c"} {
		m := newMachine(name, 2, 2)
		w.nodes = append(w.nodes, &worldNode{machine: m, whole: m.Node})
	}
	return w
}

func (w *world) any() *worldNode { return histories.OneOf(w.rng, w.nodes...) }

func (w *world) Steps() []histories.Step {
	return []histories.Step{
		{Name: "a process starts", Weight: 3, Do: w.start},
		{Name: "a process ends", Weight: 3, Do: w.end},
		{Name: "a GPU moves", Weight: 1, Do: w.move},
		{Name: "the collector is killed", Weight: 2, Do: func() string {
			n := w.any()
			n.restart()
			return n.Host.NodeName
		}},
		{Name: "the node gets another name", Weight: 1, Do: w.rename},
		{Name: "the clock is set", Weight: 1, Do: w.setClock},
		{Name: "the source fails or can be read again", Weight: 2, Do: func() string {
			n := w.any()
			n.failed = !n.failed
			return fmt.Sprint(n.Host.NodeName, " ", n.failed)
		}},
		{Name: "the network gets bad or good", Weight: 2, Do: func() string {
			w.bad = !w.bad
			return strconv.FormatBool(w.bad)
		}},
	}
}

func (w *world) start() string {
	n := w.any()
	if len(n.whole.Devices) == 0 || len(n.whole.Processes) > 10 {
		return "not"
	}
	w.number++
	d := histories.OneOf(w.rng, n.whole.Devices...)
	p := gpu.Process{
		PID: int64(5000 + w.number%7), DeviceID: d.ID, Type: gpu.ProcessCompute, Memory: gpu.Some[int64](1),
		Created: start.Add(time.Duration(w.number) * time.Second), Executable: fmt.Sprint("p", w.number),
	}
	if slices.ContainsFunc(n.whole.Processes, func(o gpu.Process) bool { return o.PID == p.PID }) {
		return "not"
	}
	n.whole.Processes = append(slices.Clone(n.whole.Processes), p)
	return fmt.Sprintf("%d on %s", p.PID, p.DeviceID)
}

func (w *world) end() string {
	n := w.any()
	if len(n.whole.Processes) == 0 {
		return "not"
	}
	i := w.rng.IntN(len(n.whole.Processes))
	p := n.whole.Processes[i]
	n.whole.Processes = slices.Delete(slices.Clone(n.whole.Processes), i, i+1)
	return fmt.Sprintf("%d on %s", p.PID, p.DeviceID)
}

func (w *world) move() string {
	source, target := w.any(), w.any()
	if source == target || len(source.whole.Devices) == 0 {
		return "not"
	}
	d := source.whole.Devices[0]
	source.whole.Devices = source.whole.Devices[1:]
	source.whole.Processes = slices.DeleteFunc(slices.Clone(source.whole.Processes), func(p gpu.Process) bool { return p.DeviceID == d.ID })
	source.whole.Containers = slices.DeleteFunc(slices.Clone(source.whole.Containers), func(c gpu.ContainerUse) bool { return c.DeviceID == d.ID })
	target.whole.Devices = append(slices.Clone(target.whole.Devices), d)
	return d.ID + " to " + target.Host.NodeName
}

func (w *world) rename() string {
	n := w.any()
	w.number++
	old := n.Host.NodeName
	n.Host.NodeName = fmt.Sprint("n", w.number)
	n.Host.Name = n.Host.NodeName
	n.restart()
	return old + " to " + n.Host.NodeName
}

func (w *world) setClock() string {
	n := w.any()
	if w.watch.now.Sub(n.set) < 2*time.Minute {
		return "not"
	}
	n.set, n.skew = w.watch.now, histories.OneOf(w.rng, 0, time.Hour, -time.Hour, 10*time.Second, -10*time.Second)
	return fmt.Sprint(n.Host.NodeName, " ", n.skew)
}

// restart starts a new collector, which ends nothing that the old one sent.
func (n *worldNode) restart() {
	fresh := newMachine("x", 0, 0)
	fresh.Host = n.Host
	n.machine = fresh
}

// Pass lets the nodes read and the messages arrive.
func (w *world) Pass(seconds float64) {
	end := w.watch.now.Add(time.Duration(seconds * float64(time.Second)))
	for w.watch.now.Before(end) {
		w.watch.pass(worldInterval)
		for _, n := range w.nodes {
			w.send(n)
		}
		w.late = slices.DeleteFunc(w.late, func(d delivery) bool {
			if d.time.After(w.watch.now) {
				return false
			}
			w.fleet.ConsumeMetrics(d.message)
			return true
		})
		w.fleet.sweep()
	}
}

func (w *world) send(n *worldNode) {
	n.Devices, n.Processes, n.Containers = slices.Clone(n.whole.Devices), n.whole.Processes, n.whole.Containers
	for i := range n.Devices {
		d := &n.Devices[i]
		w.watts++
		d.Power.Draw = gpu.Some(w.watts)
		if w.values[d.ID] == nil {
			w.values[d.ID] = map[float64]bool{}
		}
		w.values[d.ID][w.watts] = true
	}
	n.Presence[gpu.Visible], n.Failure = gpu.Some(int64(len(n.Devices))), nil
	if n.failed {
		n.Failure, n.Devices, n.Processes, n.Containers = &gpu.Failure{Reason: gpu.FailureTimeout}, nil, nil, nil
		n.Presence[gpu.Visible] = gpu.Opt[int64]{}
	}
	message := n.read(w.watch.now.Add(n.skew))
	if !w.bad {
		w.fleet.ConsumeMetrics(message)
		return
	}
	switch w.rng.IntN(6) {
	case 0: // it is lost
	case 1:
		w.fleet.ConsumeMetrics(message)
		w.fleet.ConsumeMetrics(message)
	case 2, 3:
		w.late = append(w.late, delivery{w.watch.now.Add(time.Duration(w.rng.IntN(60)) * time.Second), message})
	default:
		w.fleet.ConsumeMetrics(message)
	}
}

// Check returns what is shown twice or was never sent.
func (w *world) Check() []string {
	violation := append(violations(w.fleet), w.page.refresh(w.fleet)...)
	for _, n := range w.fleet.Snapshot().Nodes {
		for _, g := range n.GPUs {
			if g.Power.Watts != nil && !w.values[g.ID][*g.Power.Watts] {
				violation = append(violation, fmt.Sprintf("%s never drew %f W", g.ID, *g.Power.Watts))
			}
		}
	}
	return violation
}

// Recover ends all faults, and compares with a fleet that has had the last messages alone.
func (w *world) Recover() []string {
	w.bad = false
	for _, n := range w.nodes {
		n.failed, n.skew, n.set = false, 0, w.watch.now
	}
	w.Pass((12 * time.Minute).Seconds())
	violation := w.Check()
	fresh := New(Settings{Now: func() time.Time { return w.watch.now }})
	for _, n := range w.nodes {
		again := n.machine
		n.restart()
		n.Node = again.Node
		fresh.ConsumeMetrics(n.read(w.watch.now))
		n.machine = again
	}
	if diff := cmp.Diff(fresh.Snapshot().Nodes, w.fleet.Snapshot().Nodes, cmpopts.IgnoreFields(view.Node{}, "Interval", "Begins")); diff != "" {
		violation = append(violation, "expected (-), shown (+):\n"+diff)
	}
	return violation
}
