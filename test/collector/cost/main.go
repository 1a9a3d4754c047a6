// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command cost measures what the running collector costs on a simulated node of 8 GPUs with 64 processes: CPU for each
// scrape, from the driver's library to the last byte of OTLP, and memory. It runs the same program three times: with a
// receiver that receives nothing, with the gpu receiver between two scrapes, and scraping.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

type options struct {
	binary   string
	scrapes  int
	interval time.Duration
	rounds   int
	check    bool
	brief    bool
	floor    bool
	only     string
}

// The goals.
const (
	goalCPU    = 2 * time.Millisecond // for each scrape, with OTLP as the shipped configuration sends it
	goalMemory = 10 << 20             // bytes of anonymous memory above the empty receiver
)

func main() {
	var o options
	flag.StringVar(&o.binary, "collector", "dist/otelcol-gpu", "the collector to measure")
	flag.IntVar(&o.scrapes, "scrapes", 60, "how many scrapes to measure")
	flag.DurationVar(&o.interval, "interval", 500*time.Millisecond, "the collection interval")
	flag.IntVar(&o.rounds, "rounds", 3, "how often; the medians of the rounds in which nothing else ran are shown, or where something always did, the least")
	flag.BoolVar(&o.brief, "brief", false, "only what the goals are about")
	flag.BoolVar(&o.floor, "floor", false, "only what the goals are about, in turn with a receiver that reads nothing and knows the same points; the collector is that of scripts/build-floor.sh")
	flag.StringVar(&o.only, "only", "", "only the collectors whose name this regular expression matches")
	flag.BoolVar(&o.check, "check", false, "fail where a goal is missed")
	flag.Parse()
	// The receiver of the messages runs on this machine only for the measurement. It must not run beside the measured process.
	runtime.GOMAXPROCS(1)
	harness.RegisterCompressors()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("no collector to measure: %w; build it with `make otelcol-gpu`", err)
	}
	o.binary = binary
	lib, err := nvmlsim.Build()
	if err != nil {
		return err
	}
	scenario, err := nvmlsim.ScenarioFile("steady8x64")
	if err != nil {
		return err
	}
	m := &meter{options: o, library: lib, scenario: scenario}
	if m.idle, err = m.startIdleLibrary(); err != nil {
		return err
	}
	defer m.idle.stop()
	processes, err := m.startProcesses()
	if err != nil {
		return err
	}
	defer processes.stop()
	m.scenario = processes.scenario
	chosen, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	compression, err := shippedCompression()
	if err != nil {
		return err
	}

	systemd, err := bySystemd()
	if err != nil {
		return err
	}
	daemonSet, err := byDaemonSet()
	if err != nil {
		return err
	}

	empty := empties{m: m, measured: map[string]usage{}}
	byHand, err := empty.startedAs(launch{})
	if err != nil {
		return err
	}
	library, err := m.idle.memory()
	if err != nil {
		return err
	}
	fmt.Printf("%d reads at an interval of %v, %d rounds. A collector with an empty receiver takes %.2f ms of CPU a second, %s of anonymous memory, and is %s resident.\n\n",
		o.scrapes, o.interval, o.rounds, ms(byHand.cpuPerSecond), mib(byHand.anonymous), mib(byHand.resident))
	if o.floor {
		return m.floor(setup{receiver: gpuReceiver, exporter: overGRPC, compression: compression, launch: systemd}, empty)
	}
	before := coldLine()
	fmt.Println("| collector | points | sent | CPU a read | anonymous memory above an empty collector | resident | other load, cores |")
	fmt.Println("|---|---|---|---|---|---|---|")
	var verdicts []verdict
	for i, s := range []setup{
		{name: "OTLP as in " + agentConfig + ", as systemd starts it", receiver: gpuReceiver, exporter: overGRPC, compression: compression, launch: systemd},
		{name: "OTLP as in " + agentConfig + ", as the DaemonSet starts it", receiver: gpuReceiver, exporter: overGRPC, compression: compression, launch: daemonSet},
		{name: "OTLP as in " + agentConfig + ", started by hand", receiver: gpuReceiver, exporter: overGRPC, compression: compression},
		{name: "the basic metrics, as systemd starts it", receiver: gpuReceiver, exporter: overGRPC, compression: compression, metrics: basic(), launch: systemd},
		{name: "by hand, memory_limiter and batch", receiver: gpuReceiver, exporter: overGRPC, compression: compression, processors: "memory_limiter, batch"},
		{name: "OTLP over gRPC, gzip", receiver: gpuReceiver, exporter: overGRPC},
		{name: "OTLP over gRPC, snappy", receiver: gpuReceiver, exporter: overGRPC, compression: "snappy"},
		{name: "OTLP over gRPC, zstd", receiver: gpuReceiver, exporter: overGRPC, compression: "zstd"},
		{name: "OTLP over HTTP", receiver: gpuReceiver, exporter: overHTTP, compression: "none"},
		{name: "OTLP over HTTP, gzip", receiver: gpuReceiver, exporter: overHTTP},
		{name: "on a Prometheus endpoint", receiver: gpuReceiver, exporter: prometheus},
		{name: "no exporter", receiver: gpuReceiver, exporter: nowhere},
		{name: "processes that are not in /proc", receiver: gpuReceiver, exporter: overGRPC, compression: compression, scenario: scenario},
		{name: "no processes", receiver: gpuReceiver, exporter: overGRPC, compression: compression, metrics: withoutProcesses},
		{name: "power and memory only", receiver: gpuReceiver, exporter: overGRPC, compression: compression, metrics: only("hw.power", "hw.gpu.memory.usage")},
		{name: "a driver as slow as an H200's, as systemd starts it", receiver: gpuReceiver, exporter: overGRPC, compression: compression, launch: systemd, scenario: processes.slow},
		{name: "between two scrapes (a second)", receiver: gpuReceiver, exporter: overGRPC, compression: compression, rare: true},
		{name: "between two scrapes (a second), a driver as slow as an H200's", receiver: gpuReceiver, exporter: overGRPC, compression: compression, rare: true, scenario: processes.slow},
	} {
		if !chosen.MatchString(s.name) {
			continue
		}
		if o.brief && i >= judged {
			break
		}
		u, err := m.median(s)
		if err != nil {
			return err
		}
		empty, err := empty.startedAs(s.launch)
		if err != nil {
			return err
		}
		above := u.anonymous - empty.anonymous - library // the simulated library is not part of the collector
		if i < judged {
			verdicts = append(verdicts, verdict{s.name, u.perScrape(empty), above})
		}
		fmt.Printf("| %s | %d | %s | %.2f ms | %s | %s | %.2f |\n", s.name, u.points, kb(u.bytes), ms(u.perScrape(empty)), mib(above), mib(u.resident), u.others)
	}
	fmt.Printf("\nThe machine fetched a line of memory that is in no cache in %v before and %v after.\n", before, coldLine())
	return judge(verdicts, o.check)
}

// empties are the collectors with an empty receiver, by the way they are started.
type empties struct {
	m        *meter
	measured map[string]usage
}

func (e empties) startedAs(l launch) (usage, error) {
	key := fmt.Sprint(l)
	if u, ok := e.measured[key]; ok {
		return u, nil
	}
	u, err := e.m.median(setup{receiver: emptyReceiver, exporter: overHTTP, launch: l})
	e.measured[key] = u
	return u, err
}

// judged is the number of collectors, from the first, that are compared with the goals.
const judged = 4

// verdict is the result that is compared with the goals.
type verdict struct {
	name   string
	cpu    time.Duration
	memory int64
}

func judge(verdicts []verdict, check bool) error {
	missed := false
	for _, v := range verdicts {
		words := "met"
		if v.cpu > goalCPU || v.memory > goalMemory {
			words, missed = "MISSED", true
		}
		fmt.Fprintf(os.Stderr, "%s: %.2f ms of CPU a read (goal %.0f), %s of anonymous memory above the empty receiver (goal %s): %s\n",
			v.name, ms(v.cpu), ms(goalCPU), mib(v.memory), mib(goalMemory), words)
	}
	if check && missed {
		return errors.New("a goal was missed")
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// kb returns bytes in the format of the page; empty for a collector that sends nothing.
func kb(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f KB", float64(bytes)/1e3)
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
