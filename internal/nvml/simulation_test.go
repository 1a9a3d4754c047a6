// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

func simulator(tb testing.TB) nvmlsim.Library {
	tb.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	return lib
}

// bench is a source over the simulator, on a machine whose clock, PCI bus and driver files the test owns.
type bench struct {
	*source
	t       testing.TB
	control *nvmlsim.Control
	clock   time.Time
	sys     string
	proc    string
}

// start runs a source over a scenario. The scenario's time is the test's: it moves with advance.
func start(tb testing.TB, scenario string, options ...any) *bench {
	tb.Helper()
	b := &bench{t: tb, clock: time.Now().Truncate(time.Second), sys: tb.TempDir(), proc: tb.TempDir()}
	if strings.Contains(scenario, "time = manual") {
		b.clock = manualEpoch
	}
	cfg := DefaultConfig()
	cfg.LibraryPath = simulator(tb).Full
	want := gpu.GroupAll
	opts := []Option{
		WithClock(func() time.Time { return b.clock }), WithSysRoot(b.sys), WithProcRoot(b.proc), WithPatience(time.Hour), WithHungAfter(-1),
	}
	for _, o := range options {
		switch o := o.(type) {
		case Option:
			opts = append(opts, o)
		case gpu.Group:
			want = o
		case func(*Config):
			o(&cfg)
		default:
			tb.Fatalf("option %T", o)
		}
	}
	b.control = nvmlsim.Use(tb, scenario)
	b.source = New(&cfg, want, opts...).(*source)
	tb.Cleanup(func() {
		// A hung call must not outlast its test.
		require.NoError(tb, b.control.Write("[fault f]\npresent = false"))
		require.NoError(tb, b.Close())
		require.Eventually(tb, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			select {
			case <-b.freed:
				return true
			default:
				return false
			}
		}, time.Minute, time.Millisecond)
	})
	return b
}

// unhurried is the limit of what no machine is too slow for.
const unhurried = 10 * time.Minute

// read reads once. No busy machine is too slow for it, so no call may hang that did not before.
func (b *bench) read() *gpu.Node {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), unhurried)
	defer cancel()
	return b.checked(b.Read(ctx))
}

func (b *bench) checked(node *gpu.Node, err error) *gpu.Node {
	b.t.Helper()
	require.NoError(b.t, err)
	once(b.t, node)
	return node
}

// readUntilHung reads. The deadline passes when nothing is left but so many calls that hang: a busy machine, too, has read the rest.
func (b *bench) readUntilHung(calls int) *gpu.Node {
	b.t.Helper()
	base, cancel := context.WithTimeout(b.t.Context(), unhurried)
	defer cancel()
	ctx := overdue{base, make(chan struct{})}
	var node *gpu.Node
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		node, err = b.Read(ctx)
	}()
	b.await(b.hung(calls))
	close(ctx.passed)
	<-ended
	return b.checked(node, err)
}

// overdue is a context whose deadline the test lets pass.
type overdue struct {
	context.Context
	passed chan struct{}
}

func (o overdue) Done() <-chan struct{} { return o.passed }

func (o overdue) Err() error {
	select {
	case <-o.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// hung returns whether so many calls hang, and none other is outstanding.
func (b *bench) hung(calls int) func() bool {
	b.t.Helper()
	counters, err := nvmlsim.OpenCounters(b.cfg.LibraryPath)
	require.NoError(b.t, err)
	return func() bool { return counters.Waiting() == calls && b.pool.Outstanding() == calls }
}

func (b *bench) await(condition func() bool) {
	b.t.Helper()
	require.Eventually(b.t, condition, time.Minute, time.Millisecond)
}

// fetchUntilHung fetches samples until so many calls hang. Then it fetches the samples of the other GPUs, which are not given up again.
func (b *bench) fetchUntilHung(calls int) {
	b.t.Helper()
	hung := b.hung(calls)
	b.setPatience(0)
	b.await(func() bool { b.fetchSamples(); return hung() })
	b.setPatience(unhurried)
	b.fetchSamples()
}

// setPatience changes the limit of what is done between reads.
func (b *bench) setPatience(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.patience = d
}

// once requires that no device is in a node twice: points with one hw.id would be in conflict.
func once(tb testing.TB, n *gpu.Node) {
	tb.Helper()
	seen := map[string]bool{}
	for i := range n.Devices {
		if id := n.Devices[i].ID; id != "" {
			require.False(tb, seen[id], "%s is there twice", id)
			seen[id] = true
		}
	}
}

// set puts faults and changes in place of those before.
func (b *bench) set(text string) {
	b.t.Helper()
	b.mu.Lock()
	initialised := b.driver.session != nil
	if b.watch.timer != nil {
		b.startWatch() // it does not wait for this lock
	}
	b.mu.Unlock()
	if !initialised { // the library reads it when it is initialised
		require.NoError(b.t, b.control.Write(text))
		return
	}
	require.NoError(b.t, b.control.Set(text))
}

// manualEpoch is the driver's time at which a scenario with manual time starts.
var manualEpoch = time.Unix(1_700_000_000, 0)

// schedule moves the scenario's time, in seconds, and the clock with it.
func (b *bench) schedule(seconds float64, text string) {
	b.t.Helper()
	b.clock = manualEpoch.Add(time.Duration(seconds * float64(time.Second)))
	b.set(fmt.Sprintf("now = %g\n%s", seconds, text))
}

// gpuAt finds a GPU by its index among whole GPUs.
func gpuAt(tb testing.TB, n *gpu.Node, index int) *gpu.Device {
	tb.Helper()
	for i := range n.Devices {
		d := &n.Devices[i]
		if got, ok := d.Index.Get(); ok && got == index && d.Parent == "" {
			return d
		}
	}
	require.FailNow(tb, "no such GPU", "index %d among %d devices", index, len(n.Devices))
	return nil
}

func value2[T any](tb testing.TB, o gpu.Opt[T]) T {
	tb.Helper()
	v, ok := o.Get()
	require.True(tb, ok, "the value is absent")
	return v
}

// pci puts a GPU on the PCI bus, bound to a driver; empty: none.
func (b *bench) pci(address, driver, numa string) {
	b.t.Helper()
	pciDevice(b.t, b.sys, address, "0x10de", "0x030200", driver)
	if numa != "" {
		writeFile(b.t, filepath.Join(b.sys, "bus/pci/devices", address, "numa_node"), numa+"\n")
	}
}

// information writes what the kernel's driver says of a GPU.
func (b *bench) information(address, text string) {
	b.t.Helper()
	writeFile(b.t, filepath.Join(b.proc, "driver/nvidia/gpus", address, "information"), text)
}

// presence is the number of visible and of missing GPUs. The PCI bus must be readable.
func presence(n *gpu.Node) [2]int64 {
	visible, _ := n.Presence[gpu.Visible].Get()
	missing, _ := n.Presence[gpu.Missing].Get()
	return [2]int64{visible, missing}
}

// healthy requires that all GPUs but those named have all their data.
func healthy(tb testing.TB, n *gpu.Node, gpus int, but ...int) {
	tb.Helper()
	require.Len(tb, ids(n), gpus)
	for i := range gpus {
		d := gpuAt(tb, n, i)
		if slices.Contains(but, i) {
			continue
		}
		require.Equal(tb, gpu.StateOK, d.State(), "GPU %d: %v", i, d.Faults)
		require.True(tb, d.Power.Draw.Known() && d.Utilization[gpu.TaskGeneral].Known() && d.Memory.Usage.Known() &&
			d.Temperature[gpu.SensorGPU].Known() && d.Energy.Known(), "GPU %d: %+v", i, d)
	}
}

// failed requires that a GPU is there, as what it is, without data, and with the fault alone.
func failed(tb testing.TB, n *gpu.Node, index int, fault gpu.FaultType) *gpu.Device {
	tb.Helper()
	d := gpuAt(tb, n, index)
	require.Equal(tb, gpu.StateFailed, d.State())
	require.Len(tb, d.Faults, 1)
	require.Equal(tb, fault, d.Faults[0].Type, d.Faults[0].Message)
	require.NotEmpty(tb, d.Faults[0].Message)
	require.False(tb, d.Power.Draw.Known() || d.Utilization[gpu.TaskGeneral].Known() || d.Memory.Usage.Known() || d.Energy.Known())
	return d
}

// problem finds the problem of a step.
func problem(tb testing.TB, n *gpu.Node, subject string) gpu.Problem {
	tb.Helper()
	for _, p := range n.Problems {
		if p.What == subject {
			return p
		}
	}
	require.FailNow(tb, "no such problem", "%s among %v", subject, n.Problems)
	return gpu.Problem{}
}

// ids lists the devices of a node.
func ids(n *gpu.Node) []string {
	all := make([]string, len(n.Devices))
	for i := range n.Devices {
		all[i] = n.Devices[i].ID
	}
	return all
}
