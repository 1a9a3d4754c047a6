// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

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
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// soakNVML is a node in Kubernetes with NVIDIA GPUs.
type soakNVML struct {
	*soak
	machine  *soakMachine
	cluster  *soakCluster
	control  *nvmlsim.Control
	counters *nvmlsim.Counters
	kubelet  string // what is wrong with it
}

func newSoakNVML(t *testing.T, seed uint64, keepOpen bool) *soak {
	t.Helper()
	lib := simulator(t)
	s := newSoak(t, seed)
	n := &soakNVML{soak: s, control: nvmlsim.Use(t, soakGPUs)}
	s.node = n
	closed(t, lib)
	var err error
	n.counters, err = nvmlsim.OpenCounters(lib.Full)
	require.NoError(t, err)
	settings := nvml.DefaultConfig()
	settings.LibraryPath, settings.KeepOpen = lib.Full, keepOpen
	n.start(func(want gpu.Group) gpu.Source {
		source := nvml.New(&settings, want, nvml.WithClock(s.now),
			nvml.WithInterval(soakInterval), nvml.WithSysRoot(n.machine.sys), nvml.WithProcRoot(t.TempDir()))
		t.Cleanup(func() {
			require.NoError(t, n.control.Write("[fault f]\npresent = false")) // a hung call must not outlast its test
			require.NoError(t, source.Close())
		})
		return source
	})
	return s
}

// start has a source read the node.
func (n *soakNVML) start(source func(want gpu.Group) gpu.Source) {
	n.machine = newSoakMachine(n.t, n.rng)
	n.cluster = newSoakCluster(n.t, n.rng, n.machine)
	n.cluster.kubelet.StartAt(simEpoch.Add(-time.Hour))
	n.begin(n.cluster.proc, source, process.WithCgroup())
	n.attribute()
}

// attribute has an Attributor take part, with what this node lets it read.
func (n *soakNVML) attribute() {
	s := n.soak
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
	var err error
	s.reader.Attributor, err = attribution.New(cfg, soakInterval, options...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, s.reader.Attributor.Close()) })
	require.NoError(s.t, s.reader.Attributor.Start(s.t.Context()))
}

func (n *soakNVML) pass(seconds float64) { n.machine.pass(seconds) }

func (n *soakNVML) apply() {
	text := n.describe()
	if !n.initialised() {
		require.NoError(n.t, n.control.Write(text)) // the library reads it when it is initialised
		return
	}
	if err := n.control.Set(text); err != nil && n.initialised() { // else a call that hung has come back just now, the last one
		require.NoError(n.t, err)
	}
}

// describe has the bus and the kubelet show what is there, and returns what the driver is to.
func (n *soakNVML) describe() string {
	n.machine.bus()
	n.cluster.kubelet.Set(n.cluster.resources()...)
	return n.machine.text() + n.cluster.text()
}

// initialised tells whether the library is at work.
func (n *soakNVML) initialised() bool {
	worked := func(function string) uint64 { return n.counters.Calls(function) - n.counters.Errors(function) }
	return worked("nvmlInit_v2")+worked("nvmlInitWithFlags") > worked("nvmlShutdown")
}

// change changes something.
func (n *soakNVML) change() string {
	switch what := n.rng.IntN(18); {
	case what < 8:
		return n.machine.change()
	case what < 17:
		return n.cluster.change()
	default:
		return n.changeKubelet()
	}
}

func (n *soakNVML) changeKubelet() string {
	k := n.cluster.kubelet
	switch before := n.kubelet; before {
	case "stopped":
		k.StartAt(simEpoch.Add(time.Duration(n.clock.Load())))
		n.kubelet = ""
	case "":
		if n.kubelet = oneOf(n.rng, "stopped", "failing"); n.kubelet == "stopped" {
			k.Stop()
		} else {
			k.Fail(errors.New("not now"))
		}
	default:
		k.Fail(nil)
		n.kubelet = ""
	}
	return "kubelet " + n.kubelet
}

func (n *soakNVML) mend() {
	if n.machine.away {
		n.soak.apply()
		n.look(10 * time.Second)
	}
	n.machine.mend()
	for n.kubelet != "" {
		n.changeKubelet()
	}
	n.cluster.mend()
}

func (n *soakNVML) touched(at string) bool {
	return n.machine.touched[max(0, slices.Index(soakAddresses[:], at))]
}

func (n *soakNVML) settle() { n.machine.touched = [soaked]bool{} }

// wrongReadings leaves the readings to the tests of the source.
func (n *soakNVML) wrongReadings([]otlptest.Point) []string {
	n.machine.away = false
	return nil
}
