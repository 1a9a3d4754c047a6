// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command retry runs go test with its arguments. A test that fails is run once more by itself. If it passes then, the run passes and prints
// "flaky: PACKAGE.TEST". A data race, a leaked goroutine, a panic, a timeout and a fuzz test that fails are never tried again.
// Arguments that are packages come last and start with a dot or the module's path.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// maxRetries bounds the tests of a run that are tried again: more failures have a common cause.
const maxRetries = 5

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	first := slices.IndexFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "github.com/otelgpu/")
	})
	if first < 0 {
		return fmt.Errorf("retry: no packages in the arguments %q", args)
	}
	flags := args[:first]
	result, err := goTest(args, out)
	if err == nil {
		return nil
	}
	if len(result.failed) == 0 || result.final || len(result.failed) > maxRetries {
		return err
	}
	for _, t := range result.failed {
		_, _ = fmt.Fprintf(out, "once more: %s.%s\n", t.pkg, t.name)
		again := append(slices.Clone(flags), "-count=1")
		if !slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "-run") }) { // -run may name subtests
			again = append(again, "-run=^"+t.name+"$")
		}
		again = append(again, t.pkg)
		if _, err := goTest(again, out); err != nil {
			return err
		}
	}
	for _, t := range result.failed {
		_, _ = fmt.Fprintf(out, "flaky: %s.%s\n", t.pkg, t.name)
	}
	return nil
}

// goTest runs go test and prints what it prints without -json.
func goTest(args []string, out io.Writer) (*result, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	result, readErr := read(events, out)
	if err := cmd.Wait(); err != nil {
		return result, fmt.Errorf("go test: %w", err)
	}
	return result, readErr
}
