// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command otelgpu shows GPUs in a terminal, from the API of the gpu_view exporter: otelgpu top as a live table, otelgpu get for scripts.
// otelgpu run starts a collector beside the table, and otelgpu doctor says what a collector could read here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The exit codes.
const (
	exitFine  = 0
	exitError = 1
	exitUsage = 2
)

const usage = `otelgpu shows GPUs from the API of a Collector with the gpu_view exporter.

  otelgpu top           a live table of GPUs, processes, pods, workloads, nodes and events
  otelgpu get RESOURCE  prints nodes, gpus, processes, summary, workloads or events, as table, json or csv
  otelgpu report        prints GPU-hours, kWh and costs from the database of the gpu_ledger exporter
  otelgpu run           starts a collector on this machine, shows its GPUs as top does, and stops it
  otelgpu doctor        reports what a collector can read on this machine, what it cannot, why, and what to change
  otelgpu --version     prints the version, with the commit it was built from

"otelgpu COMMAND -h" lists the flags. Exit codes: 0; 1 if something failed; 2 if the command line is wrong.
`

func main() { os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// usageError is a mistake in the command line.
type usageError struct{ error }

func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// execute runs one command and returns the exit code.
func execute(args []string, input *os.File, out *os.File, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	err := command(ctx, args, input, out, errs)
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFine
	case errors.Is(err, errUnreadable): // the report has said so
		return exitError
	case errors.Is(err, syscall.EPIPE): // who read the output has ended, and expects nothing more
		return exitError
	case errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(errs, "otelgpu: interrupted; the output is not complete")
		return exitError
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintf(errs, "otelgpu: %s\n", gpu.CleanText(err.Error()))
		return exitUsage
	default:
		_, _ = fmt.Fprintf(errs, "otelgpu: %s\n", display.CleanLines(err.Error()))
		return exitError
	}
}

// endSignals end the program, and what it started, when the terminal is closed (except under nohup) and when the output is no longer read.
func endSignals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}

func command(ctx context.Context, args []string, input, out *os.File, errs io.Writer) error {
	if len(args) == 0 {
		return usageErrorf("no command; give top, get, report, run or doctor, or -h for help")
	}
	switch name, rest := args[0], args[1:]; name {
	case "top":
		return runTop(ctx, rest, input, out)
	case "run":
		return runCollector(ctx, rest, input, out)
	case "get":
		return runGet(ctx, rest, out, errs)
	case "report":
		return runReport(ctx, rest, out)
	case "doctor":
		return runDoctor(ctx, rest, out)
	case "-version", "--version", "version":
		_, err := fmt.Fprintln(out, "otelgpu version", buildVersion())
		return err
	case "-h", "-help", "--help", "help":
		_, err := io.WriteString(out, usage)
		return err
	default:
		return usageErrorf("unknown command %q; give top, get, report, run or doctor, or -h for help", name)
	}
}
