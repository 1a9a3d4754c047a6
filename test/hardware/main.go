// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command hardware compares what the collector reports of the GPUs of this machine with what a load did to them, and with what the vendor's
// tool reports. It changes no setting. It needs no Go and no CUDA toolkit: the programs that it starts are in its own directory, where
// `make test-hardware` builds them. It writes a report and a recording without identities. docs/troubleshoot/hardware-test.md describes it.
//
//	main.go        the phases of a test
//	machine.go     which GPUs the machine has, and which sources read them
//	collector.go   the collector, and what it reports
//	load.go        the program that puts load on a GPU
//	doctor.go      otelgpu doctor --compare
//	checks.go      what the load did, beside what the sources report
//	calls.go       the calls of NVML, which programs/count.c counts
//	identity.go    removes identities
//	report.go      the report; recording.go: the recording
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

type options struct {
	programs string
	out      string
	tool     string
	vendor   string
	illegal  bool
	interval time.Duration
	maxPhase time.Duration
}

func main() {
	var o options
	self, _ := os.Executable()
	flag.StringVar(&o.programs, "programs", filepath.Dir(self), "the directory of otelcol-gpu, otelgpu, load and count.so")
	flag.StringVar(&o.out, "out", "hardware-report", "the directory to write the report and the recording to; it must not exist")
	flag.StringVar(&o.tool, "tool", "", "the path of nvidia-smi; without it: the usual places")
	flag.StringVar(&o.vendor, "vendor", "", "nvidia or amd; without it: what /proc and /sys show")
	flag.BoolVar(&o.illegal, "illegal-access", false, "at the end let the load access an illegal address: the driver reports XID 31, and writes it to the kernel's log")
	flag.DurationVar(&o.interval, "interval", time.Second, "how often the driver's library is read; tools are read three times less often")
	flag.DurationVar(&o.maxPhase, "max-phase", 20*time.Second, "the longest time of a phase")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, &o, os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hardware:", err)
		os.Exit(1)
	}
}

// test is one run, and what it found.
type test struct {
	*options
	dir       string // temporary
	sources   []*source
	collector *harness.Process
	load      *load
	loadError error
	phases    []done
	doctors   []doctor
	calls     []function
	cpu       time.Duration // of the collector
}

func run(ctx context.Context, o *options, out io.Writer) error {
	sources := o.sources()
	if len(sources) == 0 {
		_, err := fmt.Fprintln(out, "SKIP: test-hardware: this machine has no NVIDIA or AMD GPU with a driver")
		return err
	}
	if err := os.Mkdir(o.out, 0o700); err != nil {
		return fmt.Errorf("%w; remove it, or name another directory by -out", err)
	}
	t := &test{options: o, sources: sources}
	if err := t.startCollector(); err != nil {
		return err
	}
	defer t.stopCollector()
	if sources[0].vendor == nvidia {
		if t.load, t.loadError = startLoad(o.program("load")); t.loadError == nil {
			defer t.load.stop()
		}
	}
	phases := []string{idle}
	if t.load != nil {
		phases = append(phases, arithmetic, deviceCopy, hostCopy, allocation, halfDuty)
		if o.illegal {
			phases = append(phases, illegalAccess)
		}
	}
	for _, name := range phases {
		_, _ = fmt.Fprintln(out, name)
		if err := t.play(ctx, name); err != nil {
			return err
		}
	}
	if err := t.measureCollector(); err != nil {
		return err
	}
	t.stopCollector() // it sends nothing more
	return t.write(out)
}

// play runs a phase until each source has been read often enough in it.
func (t *test) play(ctx context.Context, name string) error {
	if t.load != nil {
		if _, err := t.load.step(name); err != nil {
			return err
		}
	}
	p := done{Phase: name, Begin: seconds(time.Now())}
	limited, cancel := context.WithTimeout(ctx, t.maxPhase)
	defer cancel()
	for _, s := range t.sources {
		await(limited, func() bool {
			if name == illegalAccess {
				return len(t.sources[0].xids()) > 0
			}
			p.End = seconds(time.Now())
			return len(s.during(&p)) >= s.targetReads
		})
	}
	if name == idle || name == arithmetic {
		t.doctors = append(t.doctors, t.runDoctor(ctx, name))
	}
	if err := errors.Join(ctx.Err(), t.collectorRuns()); err != nil {
		return err
	}
	p.End = seconds(time.Now())
	if t.load != nil {
		var err error
		if p, err = t.load.step("end"); err != nil {
			return err
		}
	}
	t.phases = append(t.phases, p)
	return nil
}

// program returns the path of a program of the test.
func (o *options) program(name string) string { return filepath.Join(o.programs, name) }

// output returns what a command prints, also if it fails.
func output(ctx context.Context, name string, args ...string) []byte {
	text, _ := exec.CommandContext(ctx, name, args...).Output()
	return text
}

// seconds is a time as the load and the points have it.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
