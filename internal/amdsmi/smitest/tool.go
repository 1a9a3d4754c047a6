// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"context"
	"embed"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// Tool is a command.Runner that answers by the arguments, as a tool does.
type Tool struct {
	Answer func(args string) (command.Result, error)
	Runs   [][]string // the arguments of each command, by call of Run
}

// Run implements command.Runner.
func (f *Tool) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	run := make([]string, 0, len(commands))
	defer func() { f.Runs = append(f.Runs, run) }()
	for _, c := range commands {
		args := strings.Join(c.Args, " ")
		run = append(run, args)
		r, err := f.Answer(args)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// Prints is the result of a tool that printed this and ended well.
func Prints(stdout string) (command.Result, error) {
	return command.Result{Stdout: []byte(stdout)}, nil
}

// Fails is the result of a tool that ended with an exit code.
func Fails(code int, stdout, stderr string) (command.Result, error) {
	return command.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), ExitCode: code}, nil
}

// testdata contains outputs of the tools. They are embedded because two packages read them.
//
//go:embed testdata
var testdata embed.FS

// Fixture returns a file of testdata.
func Fixture(tb testing.TB, name string) string {
	tb.Helper()
	b, err := testdata.ReadFile("testdata/" + name)
	require.NoError(tb, err)
	return string(b)
}

// ROCmTool prints a JSON and a text, and refuses options as Python's argparse does.
func ROCmTool(jsonText, text string, unknown ...string) *Tool {
	return &Tool{Answer: func(args string) (command.Result, error) {
		var bad []string
		for a := range strings.FieldsSeq(args) {
			if slices.Contains(unknown, a) {
				bad = append(bad, a)
			}
		}
		switch {
		case bad != nil:
			return Fails(2, "", "usage: rocm_smi.py [-h] [-d DEVICE [DEVICE ...]] [--showid]\n"+
				"rocm_smi.py: error: unrecognized arguments: "+strings.Join(bad, " ")+"\n")
		case strings.HasPrefix(args, "--json"):
			return Prints(jsonText)
		default:
			return Prints(text)
		}
	}}
}

// AMDTool prints the files of a directory of testdata.
func AMDTool(tb testing.TB, directory string, refuse ...string) *Tool {
	tb.Helper()
	files := map[string]string{}
	for _, name := range []string{"version", "list", "static", "metric", "process", "xgmi", "bad-pages", "pcie"} {
		if b, err := testdata.ReadFile("testdata/" + directory + "/" + name + ".json"); err == nil {
			files[name] = string(b)
		}
	}
	return &Tool{Answer: func(args string) (command.Result, error) {
		for a := range strings.FieldsSeq(args) {
			if slices.Contains(refuse, a) {
				return Prints(`{"error": "Parameter '` + a + `' is invalid. Run '--help' for more info.", "code": -2}`)
			}
		}
		name, _, _ := strings.Cut(args, " ")
		if strings.HasPrefix(args, "metric -P") {
			name = "pcie"
		}
		text, ok := files[name]
		if !ok {
			return Prints(`{"error": "Command '` + name + `' is invalid. Run '--help' for more info.", "code": -1}`)
		}
		return Prints(text)
	}}
}

// StaticTool answers by the beginning of the arguments.
func StaticTool(texts map[string]string) *Tool {
	return &Tool{Answer: func(args string) (command.Result, error) {
		for prefix, text := range texts {
			if strings.HasPrefix(args, prefix) {
				return Prints(text)
			}
		}
		return Prints("[]")
	}}
}

// intercept replaces the results of a call.
func intercept(tool *Tool, call string, result func(command.Result) command.Result) {
	answer := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		r, err := answer(args)
		if strings.HasPrefix(args, call) {
			r = result(r)
		}
		return r, err
	}
}
