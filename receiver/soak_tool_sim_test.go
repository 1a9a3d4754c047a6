// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// soakTool is the same node read by nvidia-smi, and all that goes wrong with a tool. It is a command.Runner.
type soakTool struct {
	*soakNVML
	plain bool           // no GPU is partitioned when all is well
	real  command.Runner // nil: what is printed is made up
	wrong string         // with the tool itself, now and then
}

var errUnreached = errors.New("the place cannot be reached")

func (f *soakTool) change() string {
	if f.rng.IntN(4) > 0 {
		whole := f.machine.whole
		what := f.soakNVML.change()
		if f.plain && f.machine.whole != whole {
			f.machine.touchAll() // what is asked for depends on it
		}
		return what
	}
	f.machine.touchAll()
	if f.wrong = ""; f.rng.IntN(4) > 0 {
		f.wrong = oneOf(f.rng, "missing", "hangs", "busy", "unreached", "garbage", "cut", "exit",
			"-q", "pmon", "-L", "--help-query-gpu", "--query-gpu", "--query-compute-apps")
	}
	return "tool: " + f.wrong
}

func (f *soakTool) mend() {
	f.wrong = ""
	f.soakNVML.mend()
	f.machine.whole = f.plain
}

// excuses: a tool of which nothing can be made is an error, of which nothing is sent. The number of a GPU's device node is asked for anew
// where the GPU or its driver was away, and until it is answered there is no name.
func (f *soakTool) excuses(wrong string) bool {
	return wrong == "nothing is told" && f.wrong != "" ||
		strings.Contains(wrong, ": hw.name was nvidia") && strings.HasSuffix(wrong, " and is <nil>")
}

func (f *soakTool) apply() {
	text := f.describe()
	if f.control != nil { // the tool of version 535 lists no process of MPS
		require.NoError(f.t, f.control.Write(strings.ReplaceAll(text, "type = mps", "type = compute")))
	}
}

// Run implements command.Runner.
func (f *soakTool) Run(ctx context.Context, commands ...command.Command) (results []command.Result, err error) {
	for _, c := range commands {
		r, err := f.run(ctx, c)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (f *soakTool) run(ctx context.Context, c command.Command) (command.Result, error) {
	wrong := f.wrong
	if f.rng.IntN(3) == 0 {
		wrong = ""
	}
	switch {
	case wrong == "missing":
		return command.Result{}, fmt.Errorf("%w: nvidia-smi", command.ErrNotFound)
	case wrong == "hangs":
		return command.Result{}, fmt.Errorf("%w: killed", command.ErrTimeout)
	case wrong == "busy":
		return command.Result{}, command.ErrBusy
	case wrong == "unreached":
		return command.Result{}, errUnreached
	case wrong != "" && strings.HasPrefix(c.Args[0], wrong):
		return command.Result{Stdout: []byte(oneOf(f.rng, "", "Unknown Error\n", "Not supported on the device(s)\nFailed to process command line\n",
			"Unable to determine the device handle for GPU1: Unknown Error\n", "Segmentation fault\n")), ExitCode: oneOf(f.rng, 0, 139, 255)}, nil // 2 says that its version takes no such argument
	}
	r, err := f.print(ctx, c)
	if err != nil {
		return r, err
	}
	switch wrong {
	case "garbage":
		lines := bytes.SplitAfter(r.Stdout, []byte("\n"))
		junk := []byte(oneOf(f.rng, "\n", "\x00\xff\n", "Unknown Error\n", "WARNING: something, or other\n", "<html>\n"))
		if lines = slices.Insert(lines, f.rng.IntN(len(lines)), junk); f.rng.IntN(3) == 0 {
			lines = [][]byte{junk}
		}
		r.Stdout = slices.Concat(lines...)
	case "cut":
		r.Stdout, r.ExitCode = r.Stdout[:f.rng.IntN(len(r.Stdout)+1)], -1
	case "exit":
		r.ExitCode = 1 + f.rng.IntN(255)
	}
	return r, nil
}

func (f *soakTool) print(ctx context.Context, c command.Command) (command.Result, error) {
	if f.real != nil {
		results, err := f.real.Run(ctx, c)
		if err != nil {
			return command.Result{}, err
		}
		results[0].Stdout, results[0].Stderr = bytes.Clone(results[0].Stdout), bytes.Clone(results[0].Stderr)
		return results[0], nil
	}
	p := newSoakPrint(f, c.Args)
	if p.hangs {
		return command.Result{}, fmt.Errorf("%w: killed", command.ErrTimeout)
	}
	return command.Result{Stdout: []byte(p.String()), ExitCode: p.exit}, nil
}

// newSoakTool has the tool be the one that NVIDIA_SMI names, on the simulated library, or else one that is made up.
func newSoakTool(t *testing.T, seed uint64, query string) *soak {
	t.Helper()
	s := newSoak(t, seed)
	s.limit = 4 * time.Second
	f := &soakTool{soakNVML: &soakNVML{soak: s}, plain: query == nvidiasmi.QueryFast}
	s.node = f
	if path := os.Getenv("NVIDIA_SMI"); path != "" {
		f.control = nvmlsim.Use(t, soakGPUs)
		var err error
		f.real, err = command.NewLocal(command.NvidiaSMI, path, command.WithEnvironment("LD_LIBRARY_PATH="+simulator(t).Dir,
			nvmlsim.EnvScenario+"="+os.Getenv(nvmlsim.EnvScenario), nvmlsim.EnvControl+"="+os.Getenv(nvmlsim.EnvControl)))
		require.NoError(t, err)
	}
	f.start(func(want gpu.Group) gpu.Source {
		return nvidiasmi.New(nvidiasmi.Config{Query: query}, f, want, nvidiasmi.WithClock(s.now))
	})
	return s
}

// What is sent makes sense, too, where a tool is read with which all sorts of things are wrong.
func TestSoakTool(t *testing.T) {
	for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
		t.Run(query, func(t *testing.T) {
			soakHistories(t, func(t *testing.T, seed uint64) *soak { return newSoakTool(t, seed, query) })
		})
	}
}
