// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
)

const doctorExplanation = `Reads each source of the gpu receiver once, and reports what can be read here, what cannot, why, and what to change. Run it as the
collector's user, in its container. Exit codes: 0; 1 if something that is configured cannot be read; 2 if the command line is wrong.`

// errUnreadable ends otelgpu doctor if something cannot be read. The report says what.
var errUnreadable = errors.New("something that is configured cannot be read")

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ", ") }

// Set implements flag.Value.
func (t *texts) Set(value string) error {
	*t = append(*t, value)
	return nil
}

func runDoctor(ctx context.Context, args []string, out *os.File) error {
	var (
		config  texts
		output  string
		bundle  string
		timeout time.Duration
		options doctor.Options
	)
	flags := newFlags("otelgpu doctor")
	flags.Var(&config, "config", "the collector's configuration `FILE`, or env:NAME or yaml:TEXT, as for the collector; several are merged "+
		"(default: the sources that run by default)")
	flags.StringVar(&output, "output", "text", "output `FORMAT`: text or json")
	flags.BoolVar(&options.Compare, "compare", false, "compare the receiver's values with the values of nvidia-smi, amd-smi or rocm-smi, and mark differences")
	flags.StringVar(&bundle, "bundle", "", "also write what an issue report needs, without secrets, to this new `FILE`, a .tar.gz; - writes it to standard output instead of the report")
	flags.StringVar(&options.Tool, "tool", "", "`PATH` of the tool to compare with; it must end with the tool's name (default: the usual places, then PATH)")
	flags.DurationVar(&timeout, "timeout", 2*time.Minute, "time limit for all reads together")
	words, err := parse(flags, args, doctorExplanation, out)
	if err != nil {
		return err
	}
	switch {
	case len(words) > 0:
		return usageErrorf("doctor %s: only flags are accepted; -h lists them", strings.Join(words, " "))
	case !slices.Contains(doctor.Outputs, output):
		return usageErrorf("--output %s; give one of %s", output, strings.Join(doctor.Outputs, ", "))
	case options.Tool != "" && !options.Compare:
		return usageErrorf("--tool %s is for --compare; give both", options.Tool)
	case options.Tool != "" && !doctor.IsTool(options.Tool):
		return usageErrorf("--tool %s; give an absolute path that ends with nvidia-smi, amd-smi or rocm-smi", options.Tool)
	case timeout <= 0:
		return usageErrorf("--timeout is %s; give a time above 0", timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options.Config = config
	report, err := doctor.Examine(ctx, options)
	if err != nil {
		return err
	}
	if bundle == "-" {
		err = doctor.WriteBundle(ctx, out, report, options)
	} else if err = printReport(report, output, out); err == nil && bundle != "" {
		err = doctor.SaveBundle(ctx, bundle, report, options)
	}
	if err != nil {
		return err
	}
	if !report.Readable {
		return errUnreadable
	}
	return nil
}

func printReport(report *doctor.Report, output string, out *os.File) error {
	if output == "text" {
		_, err := out.WriteString(report.Text())
		return err
	}
	data, err := report.JSON()
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}
