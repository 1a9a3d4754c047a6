// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/differential"
)

// A tool that crashes leaves of its output what was in the pipe by then, which ends anywhere, mostly in the middle of a number.
// Whatever a call's output is cut down to, what is read of it is what the whole says, or nothing; and GPUs that were read before
// are not lost for it.
func TestNoPartOfAnOutputIsTakenForTheWhole(t *testing.T) {
	t.Parallel()
	rocm := func(version string) func(*testing.T) (*fakeTool, gpu.Source) {
		return func(t *testing.T) (*fakeTool, gpu.Source) {
			t.Helper()
			text := strings.Replace(fixture(t, "rocm-smi-"+version+".txt"), "0 1 \n===", "0 1 \nPID 31338 is using 1 DRM device(s):\n1 \n===", 1)
			text = strings.Replace(text, "==== RAS Info ====", "==== KFD Processes ====\nKFD process information:\n"+
				"PID 	PROCESS NAME	GPU(s)	VRAM USED 	SDMA USED	CU OCCUPANCY	\n"+
				"31337	Both        	2     	1073741824	0        	76          	\n31338	One         	1     	2048000512	0        	12          	\n==========\n==== RAS Info ====", 1)
			text = strings.Replace(text, "31                2", "31           257125", 1)
			tool := rocmTool(fixture(t, "rocm-smi-"+version+".json"), text)
			return tool, testROCm(tool)
		}
	}
	amd := func(folder string) func(*testing.T) (*fakeTool, gpu.Source) {
		return func(t *testing.T) (*fakeTool, gpu.Source) {
			t.Helper()
			tool := amdTool(t, folder)
			return tool, testAMD(tool)
		}
	}
	for name, c := range map[string]struct {
		source func(*testing.T) (*fakeTool, gpu.Source)
		calls  []string
	}{
		"rocm-smi 5.2.3":  {rocm("5.2.3"), []string{"--json", "--show"}},
		"rocm-smi 6.1.2":  {rocm("6.1.2"), []string{"--json", "--show"}},
		"amd-smi 24.5.2":  {amd("amd-smi-24.5.2"), []string{"list", "static", "metric -u", "metric -P"}},
		"amd-smi 6.0":     {amd("amd-smi-6.0"), []string{"list", "static", "metric -u", "process"}},
		"amd-smi 7.0 DPX": {amd("amd-smi-7.0-dpx"), []string{"list", "static", "metric -u", "process", "xgmi", "metric -P"}},
		"amd-smi 7.2 SPX": {amd("amd-smi-7.2-spx"), []string{"list", "static", "metric -u", "process"}},
	} {
		for _, call := range c.calls {
			t.Run(name+" "+call, func(t *testing.T) {
				t.Parallel()
				var text string
				tool, source := c.source(t)
				intercept(tool, call, func(r command.Result) command.Result { text = string(r.Stdout); return r })
				first := differential.Flatten(read(t, source))
				second := differential.Flatten(read(t, source))
				require.NotEmpty(t, text)
				for n := range text {
					end := n > 0 && text[n-1] == '\n'
					if lines := call == "--show"; lines && !end && n%5 > 0 || !lines && n%97 > 0 {
						continue // within a document of JSON one place is like another
					}
					cut := func(command.Result) command.Result {
						return command.Result{Stdout: []byte(text[:n]), ExitCode: -(n % 2)}
					}
					tool, source := c.source(t)
					intercept(tool, call, cut)
					if node, err := source.Read(t.Context()); err == nil {
						noOther(t, fmt.Sprintf("%d of %d bytes", n, len(text)), first, node)
					}
					tool, source = c.source(t)
					read(t, source)
					intercept(tool, call, cut)
					if node, err := source.Read(t.Context()); err == nil {
						noOther(t, fmt.Sprintf("%d of %d bytes, after the whole", n, len(text)), second, node)
					}
				}
			})
		}
	}
}

// Of a recorded output that is cut anywhere all that is read is as it is in the whole.
func TestRecordedOutputsCut(t *testing.T) {
	t.Parallel()
	for _, file := range recordings(t, "rocm-smi", "*.json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			whole := differential.Flatten(read(t, testROCm(rocmTool(string(text), ""))))
			for n := 0; n < len(text); n += 1 + len(text)/40 {
				if node, err := testROCm(rocmTool(string(text[:n]), "")).Read(t.Context()); err == nil {
					noOther(t, fmt.Sprintf("%d of %d bytes", n, len(text)), whole, node)
				}
			}
		})
	}
}

// intercept puts another result in the place of a call's.
func intercept(tool *fakeTool, call string, result func(command.Result) command.Result) {
	answer := tool.answer
	tool.answer = func(args string) (command.Result, error) {
		r, err := answer(args)
		if strings.HasPrefix(args, call) {
			r = result(r)
		}
		return r, err
	}
}

// noOther fails the test where a node tells anything that the whole does not. That nothing could be read is no such thing.
func noOther(t *testing.T, at string, whole differential.Values, node *gpu.Node) {
	t.Helper()
	if node.Presence[gpu.Visible] == gpu.Some(int64(0)) {
		return
	}
	for name, v := range differential.Flatten(node) {
		id, quantity, _ := strings.Cut(name, " ")
		if anonymous := strings.Contains(id, ":"); anonymous || quantity == "ProcessesUnread" || id == "node" {
			continue
		}
		require.Equal(t, whole[name], v, "%s: %s", at, name)
	}
}
