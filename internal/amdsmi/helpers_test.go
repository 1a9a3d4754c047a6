// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fakeTool is a Runner that answers by the arguments, as a tool would.
type fakeTool struct {
	answer func(args string) (command.Result, error)
	runs   [][]string // the arguments of each command, by call of Run
}

func (f *fakeTool) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	run := make([]string, 0, len(commands))
	defer func() { f.runs = append(f.runs, run) }()
	for _, c := range commands {
		args := strings.Join(c.Args, " ")
		run = append(run, args)
		r, err := f.answer(args)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

func prints(stdout string) (command.Result, error) {
	return command.Result{Stdout: []byte(stdout)}, nil
}

func fails(code int, stdout, stderr string) (command.Result, error) {
	return command.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), ExitCode: code}, nil
}

func fixture(tb testing.TB, name string) string {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	require.NoError(tb, err)
	return string(b)
}

// rocmTool prints a JSON and a text, and refuses options as Python's argparse does.
func rocmTool(jsonText, text string, unknown ...string) *fakeTool {
	return &fakeTool{answer: func(args string) (command.Result, error) {
		var bad []string
		for a := range strings.FieldsSeq(args) {
			if slices.Contains(unknown, a) {
				bad = append(bad, a)
			}
		}
		switch {
		case bad != nil:
			return fails(2, "", "usage: rocm_smi.py [-h] [-d DEVICE [DEVICE ...]] [--showid]\n"+
				"rocm_smi.py: error: unrecognized arguments: "+strings.Join(bad, " ")+"\n")
		case strings.HasPrefix(args, "--json"):
			return prints(jsonText)
		default:
			return prints(text)
		}
	}}
}

// amdTool prints the files of a folder of testdata.
func amdTool(tb testing.TB, folder string, refuse ...string) *fakeTool {
	tb.Helper()
	files := map[string]string{}
	for _, name := range []string{"version", "list", "static", "metric", "process", "xgmi", "pcie"} {
		if b, err := os.ReadFile(filepath.Join("testdata", folder, name+".json")); err == nil {
			files[name] = string(b)
		}
	}
	return &fakeTool{answer: func(args string) (command.Result, error) {
		for a := range strings.FieldsSeq(args) {
			if slices.Contains(refuse, a) {
				return prints(`{"error": "Parameter '` + a + `' is invalid. Run '--help' for more info.", "code": -2}`)
			}
		}
		name, _, _ := strings.Cut(args, " ")
		if strings.HasPrefix(args, "metric -P") {
			name = "pcie"
		}
		text, ok := files[name]
		if !ok {
			return prints(`{"error": "Command '` + name + `' is invalid. Run '--help' for more info.", "code": -1}`)
		}
		return prints(text)
	}}
}

var testTime = time.Date(2025, 11, 21, 8, 0, 0, 0, time.UTC)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func testROCm(runner command.Runner) *ROCm {
	s := NewROCm(&ROCmConfig{}, runner, gpu.GroupAll)
	at := testTime
	s.now = func() time.Time { at = at.Add(30 * time.Second); return at }
	return s
}

func testAMD(runner command.Runner) *AMD {
	s := NewAMD(&AMDConfig{}, runner, gpu.GroupAll)
	at := testTime
	s.now = func() time.Time { at = at.Add(30 * time.Second); return at }
	return s
}

func read(t *testing.T, s gpu.Source) *gpu.Node {
	t.Helper()
	node, err := s.Read(t.Context())
	require.NoError(t, err)
	require.NotNil(t, node)
	return node
}

func device(t *testing.T, node *gpu.Node, id string) *gpu.Device {
	t.Helper()
	i := slices.IndexFunc(node.Devices, func(d gpu.Device) bool { return d.ID == id })
	require.GreaterOrEqual(t, i, 0, "no device %q", id)
	return &node.Devices[i]
}

func ids(node *gpu.Node) []string {
	result := make([]string, 0, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		id := d.ID
		if n, ok := d.Partition.Get(); ok && id == "" {
			id = "/" + strconv.Itoa(n)
		}
		result = append(result, id)
	}
	return result
}

// problems returns the problems of a node as text.
func problems(node *gpu.Node) string {
	var b strings.Builder
	for _, p := range node.Problems {
		b.WriteString(p.What + ": " + p.Err.Error() + "\n")
	}
	return b.String()
}

func requireValue[T comparable](t *testing.T, want T, got gpu.Opt[T], what string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", what)
	require.Equal(t, want, v, what)
}

func requireNear(t *testing.T, want float64, got gpu.Opt[float64], what string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", what)
	require.InDelta(t, want, v, 1e-9*max(1, want), what)
}

func errorCounts(d *gpu.Device) map[string]int64 {
	names := map[gpu.ErrorType]string{
		gpu.ErrorCorrected: "corrected", gpu.ErrorUncorrected: "uncorrected", gpu.ErrorDeferred: "deferred", gpu.ErrorPCIeReplay: "pcie_replay",
	}
	result := make(map[string]int64, len(d.Errors))
	for _, e := range d.Errors {
		n, ok := e.Count.Get()
		if ok {
			result[strings.Trim(e.Block+" "+names[e.Type], " ")] += n
		}
	}
	return result
}
