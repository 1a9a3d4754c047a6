// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/test/histories"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// nvidiaNode is a node in Kubernetes with NVIDIA GPUs.
type nvidiaNode struct {
	*node
	gpus     *nvidiaGPUs
	cluster  *cluster
	control  *nvmlsim.Control
	counters *nvmlsim.Counters
	kubelet  string // its fault
}

// In any order of events of GPUs, driver, kubelet and pods, the sent data is consistent, and true in the end.
func TestNVML(t *testing.T) {
	play(t, func(t *testing.T, h *histories.History) *node { return newNVIDIANode(t, h, h.Seed%4 > 0) })
}

func newNVIDIANode(t *testing.T, h *histories.History, keepOpen bool) *node {
	t.Helper()
	lib := simulator(t)
	s := newNode(t, h)
	n := &nvidiaNode{node: s, control: nvmlsim.Use(t, nvidiaScenario)}
	s.machine = n
	var err error
	n.counters, err = nvmlsim.OpenCounters(lib.Full)
	require.NoError(t, err)
	t.Cleanup(func() { // the library reads the next test's scenario at its initialisation, and a hung call may return late
		require.Eventually(t, func() bool { return n.counters.Outstanding() == 0 && !n.initialised() }, unhurried, time.Millisecond, "NVML is still initialised")
	})
	settings := nvml.DefaultConfig()
	settings.LibraryPath, settings.KeepOpen = lib.Full, keepOpen
	n.start(func(want gpu.Group) gpu.Source {
		source := nvml.New(&settings, want, nvml.WithClock(s.now),
			nvml.WithInterval(interval), nvml.WithSysRoot(n.gpus.sys), nvml.WithProcRoot(t.TempDir()), nvml.WithPatience(time.Hour), nvml.WithHungAfter(-1))
		t.Cleanup(func() {
			require.NoError(t, n.control.Write("[fault f]\npresent = false")) // a hung call must not outlast its test
			require.NoError(t, source.Close())
		})
		return source
	})
	return s
}

// start creates the node and its source.
func (n *nvidiaNode) start(source func(want gpu.Group) gpu.Source) {
	n.gpus = newNVIDIAGPUs(n.t, n.rng)
	n.cluster = newCluster(n.t, n.rng, n.gpus)
	n.cluster.kubelet.StartAt(epoch.Add(-time.Hour))
	n.begin(n.cluster.proc, source, process.WithCgroup())
	n.attribute()
}

// attribute adds an Attributor, with the access that this node permits.
func (n *nvidiaNode) attribute() {
	s := n.node
	pods, processes := attribution.DefaultPodResources(), attribution.DefaultProcesses()
	pods.Endpoint, pods.CDIDirs = n.cluster.kubelet.Endpoint(), nil
	processes.LogPath = n.cluster.logs
	if n.cluster.logs == "" {
		processes.LogPath = filepath.Join(s.t.TempDir(), "none")
	}
	cfg := attribution.Config{NodeName: "node-a", PodResources: &pods, Processes: &processes}
	var options []attribution.Option
	if n.cluster.api != nil {
		owners := attribution.DefaultOwners()
		cfg.Owners = &owners
		scheme := metadatafake.NewTestScheme()
		require.NoError(s.t, metav1.AddMetaToScheme(scheme))
		options = append(options, attribution.WithClients(&kube.Clients{
			Kubernetes: n.cluster.api, Metadata: metadatafake.NewSimpleMetadataClient(scheme),
			Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		}))
	}
	attributor, err := attribution.New(cfg, interval, options...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, attributor.Close()) })
	require.NoError(s.t, attributor.Start(s.t.Context()))
	s.reader.Attributor = attributor
}

func (n *nvidiaNode) pass(seconds float64) { n.gpus.pass(seconds) }

func (n *nvidiaNode) apply() {
	text := n.describe()
	if !n.initialised() {
		require.NoError(n.t, n.control.Write(text)) // the library reads it at its initialisation
		return
	}
	if err := n.control.Set(text); err != nil && n.initialised() { // otherwise the last hung call has just returned
		require.NoError(n.t, err)
	}
}

// describe writes the bus and the kubelet, and returns the scenario for the driver.
func (n *nvidiaNode) describe() string {
	n.gpus.bus()
	n.cluster.kubelet.Set(n.cluster.resources()...)
	return n.gpus.text() + n.cluster.text()
}

// initialised reports whether the library is initialised.
func (n *nvidiaNode) initialised() bool {
	worked := func(function string) uint64 { return n.counters.Calls(function) - n.counters.Errors(function) }
	return worked("nvmlInit_v2")+worked("nvmlInitWithFlags") > worked("nvmlShutdown")
}

func (n *nvidiaNode) steps() []histories.Step {
	kubelet := histories.Step{Name: "kubelet stopped, failing or back", Weight: 10, Do: n.changeKubelet}
	return append(append(histories.Times(5, n.gpus.steps()), histories.Times(7, n.cluster.steps())...), kubelet)
}

func (n *nvidiaNode) changeKubelet() string {
	k := n.cluster.kubelet
	switch before := n.kubelet; before {
	case "stopped":
		k.StartAt(epoch.Add(time.Duration(n.clock.Load())))
		n.kubelet = ""
	case "":
		if n.kubelet = histories.OneOf(n.rng, "stopped", "failing"); n.kubelet == "stopped" {
			k.Stop()
		} else {
			k.Fail(errors.New("not now"))
		}
	default:
		k.Fail(nil)
		n.kubelet = ""
	}
	return n.kubelet
}

func (n *nvidiaNode) recover() {
	if n.gpus.away { // a read must see it
		n.gpus.faults = [nvidiaCount]string{} // calls may hang
		n.node.apply()
		_, wrong := n.read(unhurried)
		n.h.Require(wrong)
	}
	n.gpus.recover()
	for n.kubelet != "" {
		n.changeKubelet()
	}
	n.cluster.recover()
}

func (n *nvidiaNode) touched(address string) bool {
	return n.gpus.touched[max(0, slices.Index(nvidiaAddresses[:], address))]
}

func (n *nvidiaNode) settle() { n.gpus.touched = [nvidiaCount]bool{} }

// wrongReadings returns nothing: the tests of the source check the readings.
func (n *nvidiaNode) wrongReadings([]otlptest.Point) []string {
	n.gpus.away = false
	return nil
}

func simulator(t *testing.T) nvmlsim.Library {
	t.Helper()
	lib, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return lib
}
