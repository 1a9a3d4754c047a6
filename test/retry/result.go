// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of go test -json, see go doc test2json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// test is a test function of a package.
type test struct{ pkg, name string }

// result says what failed in a run of go test.
type result struct {
	failed []test // test functions, without their subtests
	final  bool   // something failed that must not be tried again
}

// read reads the events of go test and prints the output of what failed, and a line for each package.
func read(input io.Reader, out io.Writer) (*result, error) {
	result := &result{}
	outputs := map[test]*strings.Builder{}
	failedTests := map[string]bool{} // packages with a test that failed
	decoder := json.NewDecoder(input)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return result, nil
		} else if err != nil {
			return result, fmt.Errorf("output of go test: %w", err)
		}
		name, _, isSubtest := strings.Cut(e.Test, "/")
		key := test{e.Package, name}
		switch e.Action {
		case "build-output":
			_, _ = io.WriteString(out, e.Output)
		case "output":
			if outputs[key] == nil {
				outputs[key] = &strings.Builder{}
			}
			outputs[key].WriteString(e.Output)
			if name == "" && (strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "? ")) {
				_, _ = io.WriteString(out, e.Output)
			}
		case "fail":
			if isSubtest {
				continue
			}
			text := ""
			if b := outputs[key]; b != nil {
				text = b.String()
			}
			_, _ = io.WriteString(out, text)
			switch {
			case name != "":
				failedTests[e.Package] = true
				result.failed = append(result.failed, key)
				result.final = result.final || isFinal(text) || strings.HasPrefix(name, "Fuzz")
			default: // the package: what is printed outside of tests, and a failure without a failed test
				result.final = result.final || isFinal(text) || !failedTests[e.Package]
			}
			delete(outputs, key)
		case "pass", "skip":
			if !isSubtest {
				delete(outputs, key)
			}
		}
	}
}

// isFinal reports whether an output shows a failure that must not be tried again.
func isFinal(output string) bool {
	for _, mark := range []string{"DATA RACE", "race detected during execution", "goleak: ", "found unexpected goroutines", "panic: ", "fatal error: "} {
		if strings.Contains(output, mark) {
			return true
		}
	}
	return false
}
