// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

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
	"github.com/otelgpu/gpureceiver/test/histories"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// nvidiaSMINode is the same node read by nvidia-smi, with the failures of a tool. It is a command.Runner.
type nvidiaSMINode struct {
	*nvidiaNode
	plain bool           // no GPU has MIG instances after a recovery
	real  command.Runner // nil: smiOutput prints
	fault string         // of the tool itself, which not every run has
}

var errUnreached = errors.New("the place cannot be reached")

func (f *nvidiaSMINode) steps() []histories.Step {
	steps := histories.Times(3, f.nvidiaNode.steps())
	weight := 0
	for i := range steps {
		weight += steps[i].Weight
		do := steps[i].Do
		steps[i].Do = func() string {
			whole := f.gpus.whole
			details := do()
			if f.plain && f.gpus.whole != whole {
				f.gpus.touchAll() // the tool is then called for other values
			}
			return details
		}
	}
	return append(steps, histories.Step{Name: "tool", Weight: weight / 3, Do: func() string {
		f.gpus.touchAll()
		if f.fault = ""; f.rng.IntN(4) > 0 {
			f.fault = histories.OneOf(f.rng, "missing", "hangs", "busy", "unreached", "garbage", "cut", "exit",
				"-q", "pmon", "-L", "--help-query-gpu", "--query-gpu", "--query-compute-apps", "--query-remapped-rows")
		}
		return f.fault
	}})
}

func (f *nvidiaSMINode) recover() {
	f.fault = ""
	f.nvidiaNode.recover()
	f.gpus.whole = f.plain
}

// excuses: without any usable output the read is an error, and nothing is sent. The number of a GPU's device node is queried again after
// the GPU or its driver was away; until the answer there is no name.
func (f *nvidiaSMINode) excuses(wrong string) bool {
	return wrong == "nothing is sent" && f.fault != "" ||
		strings.Contains(wrong, ": hw.name was nvidia") && strings.HasSuffix(wrong, " and is <nil>")
}

func (f *nvidiaSMINode) apply() {
	text := f.describe()
	if f.control != nil { // the tool of version 535 lists no process of MPS
		require.NoError(f.t, f.control.Write(strings.ReplaceAll(text, "type = mps", "type = compute")))
	}
}

// Run implements command.Runner.
func (f *nvidiaSMINode) Run(ctx context.Context, commands ...command.Command) (results []command.Result, err error) {
	for _, c := range commands {
		r, err := f.run(ctx, c)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

func (f *nvidiaSMINode) run(ctx context.Context, c command.Command) (command.Result, error) {
	wrong := f.fault
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
		return command.Result{Stdout: []byte(histories.OneOf(f.rng, "", "Unknown Error\n", "Not supported on the device(s)\nFailed to process command line\n",
			"Unable to determine the device handle for GPU1: Unknown Error\n", "Segmentation fault\n")), ExitCode: histories.OneOf(f.rng, 0, 139, 255)}, nil // 2 says that its version takes no such argument
	}
	r, err := f.print(ctx, c)
	if err != nil {
		return r, err
	}
	switch wrong {
	case "garbage":
		lines := bytes.SplitAfter(r.Stdout, []byte("\n"))
		junk := []byte(histories.OneOf(f.rng, "\n", "\x00\xff\n", "Unknown Error\n", "WARNING: something, or other\n", "<html>\n"))
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

func (f *nvidiaSMINode) print(ctx context.Context, c command.Command) (command.Result, error) {
	if f.real != nil {
		results, err := f.real.Run(ctx, c)
		if err != nil {
			return command.Result{}, err
		}
		results[0].Stdout, results[0].Stderr = bytes.Clone(results[0].Stdout), bytes.Clone(results[0].Stderr)
		return results[0], nil
	}
	p := printSMI(f, c.Args)
	if p.hangs {
		return command.Result{}, fmt.Errorf("%w: killed", command.ErrTimeout)
	}
	return command.Result{Stdout: []byte(p.String()), ExitCode: p.exit}, nil
}

// The sent data is consistent, and true in the end, also if the tool fails in any way.
func TestNvidiaSMI(t *testing.T) {
	for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
		t.Run(query, func(t *testing.T) {
			play(t, func(t *testing.T, h *histories.History) *node { return newNVIDIASMINode(t, h, query) })
		})
	}
}

// newNVIDIASMINode runs the tool that NVIDIA_SMI names on the simulated library, or prints the output of a simulated tool.
func newNVIDIASMINode(t *testing.T, h *histories.History, query string) *node {
	t.Helper()
	s := newNode(t, h)
	s.limit = 4 * time.Second
	f := &nvidiaSMINode{nvidiaNode: &nvidiaNode{node: s}, plain: query == nvidiasmi.QueryFast}
	s.machine = f
	if path := os.Getenv("NVIDIA_SMI"); path != "" {
		f.control = nvmlsim.Use(t, nvidiaScenario)
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
