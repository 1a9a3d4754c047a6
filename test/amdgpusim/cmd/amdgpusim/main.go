// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command amdgpusim writes the files of a simulated machine with AMD GPUs below a directory.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "amdgpusim:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	machines := amdgpusim.Machines()
	names := strings.Join(slices.Sorted(maps.Keys(machines)), ", ")
	flags := flag.NewFlagSet("amdgpusim", flag.ContinueOnError)
	machine := flags.String("machine", "mi300x-spx", "one of: "+names)
	if err := flags.Parse(args); err != nil {
		return err
	}
	build := machines[*machine]
	if build == nil || flags.NArg() != 1 {
		return fmt.Errorf("usage: amdgpusim -machine NAME DIRECTORY, with a name of: %s", names)
	}
	_, err := amdgpusim.Write(flags.Arg(0), build())
	return err
}
