// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const soakInterval = 30 * time.Second

// soak is a node in Kubernetes, to which all sorts of things happen, and the receiver on it.
type soak struct {
	*stage
	t        *testing.T
	rng      *rand.Rand
	machine  *soakMachine
	cluster  *soakCluster
	control  *nvmlsim.Control
	counters *nvmlsim.Counters
	clock    atomic.Int64  // since simEpoch
	jump     time.Duration // by how much our clock is ahead of the driver's
	kubelet  string        // what is wrong with it
	log      []string

	declared *otlptest.Declared
	recorder *record.EventRecorder
	history  otlptest.History
	seen     soakSeen
}

// now is our time, which passes while something is read.
func (s *soak) now() time.Time {
	return simEpoch.Add(time.Duration(s.clock.Add(int64(time.Millisecond))))
}

func newSoak(t *testing.T, seed uint64, keepOpen bool) *soak {
	t.Helper()
	lib := simulator(t)
	s := &soak{t: t, rng: rand.New(rand.NewPCG(seed, 1)), control: nvmlsim.Use(t, soakGPUs)}
	closed(t, lib)
	var err error
	s.counters, err = nvmlsim.OpenCounters(lib.Full)
	require.NoError(t, err)
	s.declared, err = otlptest.ReadDeclared(filepath.Join("..", "metadata.yaml"))
	require.NoError(t, err)
	s.machine = newSoakMachine(t, s.rng)
	s.cluster = newSoakCluster(t, s.rng, s.machine)
	s.cluster.kubelet.StartAt(simEpoch.Add(-time.Hour))

	cfg, events := everyMetric(), metadata.DefaultEventsConfig()
	events.ProcessGpuStarted.Enabled, events.ProcessGpuExited.Enabled = true, true
	settings := nvml.DefaultConfig()
	settings.LibraryPath, settings.KeepOpen = lib.Full, keepOpen
	source := nvml.New(&settings, record.Wanted(&cfg.Metrics, &events, true), nvml.WithClock(s.now),
		nvml.WithInterval(soakInterval), nvml.WithSysRoot(s.machine.sys), nvml.WithProcRoot(t.TempDir()))
	t.Cleanup(func() {
		require.NoError(t, s.control.Write("[fault f]\npresent = false")) // a hung call must not outlast its test
		require.NoError(t, source.Close())
	})
	s.stage = newStage(t, source, cfg)
	s.processes = process.New(s.cluster.proc, process.WithCgroup(), process.WithAnyNamespace())
	t.Cleanup(s.processes.Close)
	s.feedsLogs, s.processed = true, new(processWatch)
	s.recorder = record.NewEvents(metadata.LogsBuilderConfig{Events: events, ResourceAttributes: cfg.ResourceAttributes}, s.settings())
	s.attribute()
	return s
}

// attribute has an Attributor take part, with what this node lets it read.
func (s *soak) attribute() {
	pods, processes := attribution.DefaultPodResources(), attribution.DefaultProcesses()
	pods.Endpoint, pods.CDIDirs = s.cluster.kubelet.Endpoint(), nil
	processes.LogPath = s.cluster.logs
	if s.cluster.logs == "" {
		processes.LogPath = filepath.Join(s.t.TempDir(), "none")
	}
	cfg := attribution.Config{NodeName: "node-a", PodResources: &pods, Processes: &processes}
	var options []attribution.Option
	if s.cluster.api != nil {
		owners := attribution.DefaultOwners()
		cfg.Owners = &owners
		scheme := metadatafake.NewTestScheme()
		require.NoError(s.t, metav1.AddMetaToScheme(scheme))
		options = append(options, attribution.WithClients(&kube.Clients{
			Kubernetes: s.cluster.api, Metadata: metadatafake.NewSimpleMetadataClient(scheme),
			Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
		}))
	}
	var err error
	s.attributor, err = attribution.New(cfg, soakInterval, options...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, s.attributor.Close()) })
	require.NoError(s.t, s.attributor.Start(s.t.Context()))
}

// apply has the node be as it is described.
func (s *soak) apply() {
	s.clock.Store(int64(s.machine.seconds*float64(time.Second)) + int64(s.jump))
	s.machine.bus()
	s.cluster.kubelet.Set(s.cluster.resources()...)
	text := s.machine.text() + s.cluster.text()
	if !s.initialised() {
		require.NoError(s.t, s.control.Write(text)) // the library reads it when it is initialised
		return
	}
	if err := s.control.Set(text); err != nil && s.initialised() { // else a call that hung has come back just now, the last one
		require.NoError(s.t, err)
	}
}

// initialised tells whether the library is at work.
func (s *soak) initialised() bool {
	worked := func(function string) uint64 { return s.counters.Calls(function) - s.counters.Errors(function) }
	return worked("nvmlInit_v2")+worked("nvmlInitWithFlags") > worked("nvmlShutdown")
}

// change changes something.
func (s *soak) change() string {
	switch n := s.rng.IntN(20); {
	case n < 8:
		return s.machine.change()
	case n < 17:
		return s.cluster.change()
	case n == 17:
		s.jump = oneOf(s.rng, 0, -5*time.Minute, 5*time.Minute, -time.Minute, time.Minute)
		return fmt.Sprint("clock ", s.jump)
	default:
		return s.changeKubelet()
	}
}

func (s *soak) changeKubelet() string {
	k := s.cluster.kubelet
	switch before := s.kubelet; before {
	case "stopped":
		k.StartAt(simEpoch.Add(time.Duration(s.clock.Load())))
		s.kubelet = ""
	case "":
		if s.kubelet = oneOf(s.rng, "stopped", "failing"); s.kubelet == "stopped" {
			k.Stop()
		} else {
			k.Fail(errors.New("not now"))
		}
	default:
		k.Fail(nil)
		s.kubelet = ""
	}
	return "kubelet " + s.kubelet
}

// look reads once, and checks what is sent.
func (s *soak) look(limit time.Duration) []otlptest.Point {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	var points []otlptest.Point
	s.read(ctx, func(node *gpu.Node) {
		metrics := s.stage.recorder.Record(node)
		points = otlptest.Points(metrics)
		found := append(otlptest.Nonsense(metrics), otlptest.Mistimed(metrics)...)
		found = append(found, s.declared.Violations(metrics)...)
		found = append(found, s.history.Add(metrics)...)
		found = append(found, s.checkEvents(node, points)...)
		found = append(found, s.checkUntouched(points)...)
		require.Empty(s.t, found, s.story())
	})
	require.NotEmpty(s.t, points, s.story())
	s.machine.away = false
	return points
}

func (s *soak) story() string {
	return "what happened last:\n" + strings.Join(s.log[max(0, len(s.log)-25):], "\n")
}

func (s *soak) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%.0f s: ", s.machine.seconds)+fmt.Sprintf(format, args...))
}

// Whatever happens to GPUs, driver, kubelet and pods, in whatever order, what is sent makes sense, message by message and from one
// to the next; and when it is over, it is what is true.
//
// GPURECEIVER_SOAK=seed:histories:changes has other histories, more of them and longer ones.
func TestSoak(t *testing.T) {
	seed, histories, changes := uint64(2), 2, 20
	if text := os.Getenv("GPURECEIVER_SOAK"); text != "" {
		_, err := fmt.Sscanf(text, "%d:%d:%d", &seed, &histories, &changes)
		require.NoError(t, err)
	}
	for i := range uint64(histories) {
		t.Run(fmt.Sprintf("GPURECEIVER_SOAK=%d:1:%d", seed+i, changes), func(t *testing.T) {
			s := newSoak(t, seed+i, (seed+i)%4 > 0)
			s.heal()
			for range changes {
				for range 1 + s.rng.IntN(3) {
					s.note("%s", s.change())
				}
				s.machine.pass(1 + s.rng.Float64()*60)
				s.apply()
				for range 1 + s.rng.IntN(2) {
					s.look(200 * time.Millisecond)
					s.clock.Add(int64(s.rng.IntN(20)) * int64(time.Second))
				}
				if s.rng.IntN(10) == 0 {
					s.heal()
				}
			}
			s.heal()
		})
	}
}
