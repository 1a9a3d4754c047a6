// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/receiver"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/attribution/slurm"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// Signals are the pipelines in which a receiver is used. They decide what its sources read.
type Signals struct{ Metrics, Logs bool }

// Examination has the sources of this machine that receivers of these signals would share, to find out what they can read here. It sends nothing.
// Like a receiver it is for a configuration that was validated.
type Examination struct {
	machine *machine
	signals Signals
	started error
}

// NewExamination opens the sources. Close must be called. With everything, the sources of this machine read also what no enabled metric
// needs.
func NewExamination(ctx context.Context, cfg *Config, id component.ID, signals Signals, everything bool) (*Examination, error) {
	set := receiver.Settings{ID: id, TelemetrySettings: component.TelemetrySettings{
		Logger: zap.NewNop(), MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: tracenoop.NewTracerProvider(),
	}}
	own := *cfg
	own.Storage = nil // what is kept belongs to the collector
	if own.usesKubernetes() {
		kube.LogTo(set.Logger)
	}
	i := &instance{cfg: &own, set: set, waits: defaultWaits()}
	if signals.Metrics { // nothing is sent: that there are outputs decides what is read
		i.metrics = &metricsOutput{set: set}
	}
	if signals.Logs {
		i.logs = &logsOutput{set: set}
	}
	common, err := newShared(ctx, nil, i)
	if err != nil {
		return nil, err
	}
	open := openSource
	if everything {
		open = func(key string, cfg *Config, _ gpu.Group) (gpu.Source, error) {
			return openSource(key, cfg, gpu.GroupAll)
		}
	}
	machine, err := newMachine(ctx, common, open)
	return &Examination{machine: machine, signals: signals, started: err}, nil
}

// Started returns why a receiver would not start; nil if it would.
func (e *Examination) Started() error { return e.started }

// LocalRead is one read of a scraper of this machine.
type LocalRead struct {
	Scraper  string // its key
	Vendor   gpu.Vendor
	Optional bool      // no configuration names the scraper: a machine without the vendor's GPUs is as it should be
	Node     *gpu.Node // complete, with the problems of attribution; with only a failure if the source returned an error
}

// ReadLocal reads each source of this machine once, within the configured timeout, and passes the reads to use, which must not keep their
// nodes.
func (e *Examination) ReadLocal(ctx context.Context, use func(LocalRead)) {
	for _, l := range e.machine.local {
		ctx, cancel := context.WithTimeout(ctx, e.machine.cfg.ControllerConfig.Timeout)
		l.read(ctx, func(node *gpu.Node) {
			use(LocalRead{
				Scraper: l.key, Vendor: scraperKinds[l.key].vendor, Optional: len(e.machine.cfg.Scrapers) == 0, Node: node,
			})
		})
		cancel()
	}
}

// Close releases the sources.
func (e *Examination) Close() error { return e.machine.close() }

// KubeletRead is what the kubelet of this node answers.
type KubeletRead struct {
	Endpoint string
	Pods     int // all that the kubelet knows
	Devices  int // allocations of devices, of whatever kind
	Err      error
}

// ReadKubelet queries the kubelet for its allocations, whether or not there are GPUs. It returns nil if the configuration has no
// pod_resources.
func (e *Examination) ReadKubelet(ctx context.Context) *KubeletRead {
	cfg := e.machine.cfg.Attribution.PodResources
	if cfg == nil {
		return nil
	}
	read := &KubeletRead{Endpoint: cfg.Endpoint}
	client, err := podresources.New(cfg.Endpoint)
	if err != nil {
		read.Err = err
		return read
	}
	defer func() { _ = client.Close() }()
	answer, err := client.List(ctx)
	read.Pods, read.Devices, read.Err = answer.Pods, len(answer.Allocations), err
	return read
}

// RuntimeCheck is whether a runtime of attribution::containers can be asked for containers.
type RuntimeCheck = runtimes.Check

// CheckRuntimes asks each runtime of attribution::containers.
func (e *Examination) CheckRuntimes(ctx context.Context) []RuntimeCheck {
	cfg := e.machine.cfg.Attribution.Containers
	if cfg == nil {
		return nil
	}
	return runtimes.New(cfg).Check(ctx)
}

// CheckProcessTable reports whether a process table is read, and why the one that the configuration names does not have every process of the
// machine, as in another PID namespace.
func (e *Examination) CheckProcessTable() (bool, error) {
	if e.machine.processes == nil {
		return false, nil
	}
	return true, e.machine.processes.Check()
}

// AcceptsAnyProcessTable reports whether CheckProcessTable does not look for processes that are missing: any_pid_namespace.
func (e *Examination) AcceptsAnyProcessTable() bool {
	processes := e.machine.cfg.Attribution.Processes
	return processes != nil && processes.AnyPIDNamespace
}

// SlurmRead is which devices Slurm's jobs hold.
type SlurmRead struct {
	Path    string // that was read
	Devices int    // that jobs hold
	Err     error
}

// ReadSlurm reads which devices Slurm's jobs hold, whether or not there are GPUs. It returns nil if the configuration has no slurm.
func (e *Examination) ReadSlurm() *SlurmRead {
	cfg := e.machine.cfg.Attribution.Slurm
	if cfg == nil {
		return nil
	}
	path, read := cfg.MappingDir, slurm.ReadMapping
	if path == "" {
		path, read = cfg.DevicesPath, slurm.ReadDevices
	}
	found, err := read(path)
	return &SlurmRead{Path: path, Devices: len(found.Jobs), Err: err}
}
