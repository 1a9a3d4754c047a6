// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// meter runs the collector and measures it.
type meter struct {
	options  options
	library  nvmlsim.Library
	scenario string
	idle     *idleLibrary
}

// setup is a collector to measure.
type setup struct {
	name        string
	receiver    string
	exporter    string
	compression string
	processors  string
	scenario    string // another than the meter's
	metrics     string // switches of metrics; empty: those that are on by default
	rare        bool   // scrape once at the start, and not again
	launch      launch // how it is started; empty: directly
}

const (
	emptyReceiver = "otlp: {protocols: {http: {endpoint: NOBODY}}}"
	gpuReceiver   = "gpu: {collection_interval: INTERVAL, timeout: INTERVAL, initial_delay: 0s, metrics: METRICS, attribution: {node_name: node-a}, scrapers: {nvml: {library_path: LIBRARY}}}"
	overHTTP      = "otlp_http: {endpoint: HTTP, compression: COMPRESSION}"
	overGRPC      = "otlp_grpc: {endpoint: GRPC, compression: COMPRESSION, tls: {insecure: true}}"
	prometheus    = "prometheus: {endpoint: PAGE, metric_expiration: 90s, resource_constant_labels: {included: [\"*\"]}}"
	nowhere       = "debug: {verbosity: basic, sampling_initial: 1, sampling_thereafter: 1000000}"

	configuration = `
receivers: {RECEIVER}
processors: {memory_limiter: {check_interval: 1s, limit_mib: 200}, batch: {}}
exporters: {EXPORTER}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [R], processors: [P], exporters: [E]}
`
	seldom = time.Hour
)

// scrapes reports whether the setup produces points in each interval.
func (s *setup) scrapes() bool { return s.receiver != emptyReceiver && !s.rare }

// sends reports whether the setup sends messages that the sink counts.
func (s *setup) sends() bool { return s.exporter == overGRPC || s.exporter == overHTTP }

// usage is the resource usage of a collector.
type usage struct {
	scrapes, points     int
	bytes               int64 // of one message, on the wire
	cpu, wall           time.Duration
	cpuPerSecond        time.Duration
	anonymous, resident int64
	others              float64 // CPUs that were busy with other processes
	message             pmetric.Metrics
}

// calm is the limit of other CPU load for a measurement to count.
const calm = 0.25

// perScrape returns the CPU time of one scrape, less the time that the empty collector uses. Without scraping it returns the time of one
// second.
func (u usage) perScrape(empty usage) time.Duration {
	above := u.cpu - time.Duration(float64(empty.cpuPerSecond)*u.wall.Seconds())
	if u.scrapes == 0 {
		return time.Duration(float64(above) / u.wall.Seconds())
	}
	return above / time.Duration(u.scrapes)
}

// median measures some rounds and returns the one with the median CPU, with the median memory. Rounds in which the machine was busy with
// other processes are repeated, a few times. If no round was undisturbed, the smallest figures are returned.
func (m *meter) median(s setup) (usage, error) {
	const tries = 2 // for each round
	var rounds, disturbed []usage
	for range tries * m.options.rounds {
		u, err := m.measure(s)
		if err != nil {
			return usage{}, fmt.Errorf("%s: %w", cmp.Or(s.name, "empty receiver"), err)
		}
		if u.others > calm {
			disturbed = append(disturbed, u)
			continue
		}
		if rounds = append(rounds, u); len(rounds) == m.options.rounds {
			break
		}
	}
	middle := len(rounds) / 2
	if len(rounds) == 0 {
		rounds, middle = disturbed, 0 // disturbance only adds
	}
	slices.SortFunc(rounds, func(a, b usage) int { return cmp.Compare(a.anonymous, b.anonymous) })
	anonymous, resident := rounds[middle].anonymous, rounds[middle].resident
	slices.SortFunc(rounds, func(a, b usage) int { return cmp.Compare(a.perScrape(usage{}), b.perScrape(usage{})) })
	u := rounds[middle]
	u.anonymous, u.resident = anonymous, resident
	return u, nil
}

func (m *meter) measure(s setup) (usage, error) {
	dir, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sink := harness.NewSink()
	endpoint, stop, err := sink.ServeGRPC()
	if err != nil {
		return usage{}, err
	}
	defer stop()
	nobody, err := harness.FreeAddress()
	if err != nil {
		return usage{}, err
	}
	page, err := harness.FreeAddress()
	if err != nil {
		return usage{}, err
	}
	interval := m.options.interval
	if s.rare {
		interval = seldom
	}
	name := func(section string) string { before, _, _ := strings.Cut(section, ":"); return before }
	config := strings.NewReplacer("RECEIVER", s.receiver, "EXPORTER", s.exporter, "[R]", "["+name(s.receiver)+"]", "[E]", "["+name(s.exporter)+"]", "[P]", "["+s.processors+"]").
		Replace(configuration)
	config = strings.NewReplacer("NOBODY", nobody, "PAGE", page, "INTERVAL", interval.String(), "LIBRARY", m.library.Full, "METRICS", cmp.Or(s.metrics, "{}"), "HTTP", sink.URL,
		"GRPC", endpoint, "COMPRESSION", cmp.Or(s.compression, "gzip")).Replace(config)
	process, err := harness.Collector(harness.Options{
		Binary: m.options.binary, Dir: dir, TimerSlack: s.launch.slack,
		Env: append([]string{nvmlsim.EnvScenario + "=" + cmp.Or(s.scenario, m.scenario), noControl}, s.launch.env...),
	}, config)
	if err != nil {
		return usage{}, err
	}
	u, err := m.observe(s, process, sink, "http://"+page+"/metrics")
	if err != nil {
		process.Kill()
		return usage{}, fmt.Errorf("%w\n%s", err, process.Output())
	}
	const patience = 5 * time.Second
	if code, _, err := process.Interrupt(patience); err != nil || code != 0 {
		return usage{}, fmt.Errorf("exit code %d: %w", code, err)
	}
	return u, sink.Close()
}

// observe measures a process once it has settled.
func (m *meter) observe(s setup, process *harness.Process, sink *harness.Sink, page string) (usage, error) {
	// A measurement before the first garbage collection would include neither the full heap nor the collector's work, so wait until the
	// heap has grown that far.
	const settle = 40 // intervals
	const toStart = 30 * time.Second
	scraping := s.scrapes()
	settled := 1 // intervals
	if scraping {
		settled = settle
	}
	if s.receiver != emptyReceiver && s.sends() {
		ctx, cancel := context.WithTimeout(context.Background(), toStart+time.Duration(settled)*m.options.interval)
		defer cancel()
		for range settled {
			if _, err := sink.Next(ctx, func(harness.Points) bool { return true }); err != nil {
				return usage{}, err
			}
		}
	} else {
		time.Sleep(3*time.Second + time.Duration(settled)*m.options.interval)
	}
	var u usage
	messages, bytes := sink.Messages()
	start := time.Now()
	machine, err := harness.MachineCPU()
	if err != nil {
		return u, err
	}
	cpu, err := harness.CPUTime(process.PID())
	if err != nil {
		return u, err
	}
	var anonymous, resident []int64
	for range m.options.scrapes {
		time.Sleep(m.options.interval)
		if s.exporter == prometheus {
			if err := fetch(page); err != nil {
				return u, err
			}
		}
		a, r, err := harness.Memory(process.PID())
		if err != nil {
			return u, err
		}
		anonymous, resident = append(anonymous, a), append(resident, r)
	}
	after, err := harness.CPUTime(process.PID())
	if err != nil {
		return u, err
	}
	u.wall, u.cpu = time.Since(start), after-cpu
	if all, err := harness.MachineCPU(); err == nil {
		u.others = max(0, (all-machine-u.cpu).Seconds()/u.wall.Seconds())
	}
	u.cpuPerSecond = time.Duration(float64(u.cpu) / u.wall.Seconds())
	slices.Sort(anonymous)
	slices.Sort(resident)
	u.anonymous, u.resident = anonymous[len(anonymous)/2], resident[len(resident)/2]
	if !scraping {
		return u, nil
	}
	u.scrapes = m.options.scrapes
	if s.sends() {
		now, all := sink.Messages()
		if u.scrapes = now - messages; u.scrapes == 0 {
			return u, fmt.Errorf("nothing was sent in %v", u.wall)
		}
		u.bytes = (all - bytes) / int64(u.scrapes)
		u.message = sink.Last()
		u.points = u.message.DataPointCount()
	}
	return u, nil
}

// fetch reads a page, as Prometheus does.
func fetch(url string) error {
	response, err := http.Get(url) //nolint:noctx // of the collector on this machine
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
