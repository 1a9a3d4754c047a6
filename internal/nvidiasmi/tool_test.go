// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// calls counts the calls of a kind since the batches were last cleared.
func (f *tool) calls(kind string) (n int) {
	for _, b := range f.batches {
		for _, k := range b {
			if strings.HasPrefix(k, kind) {
				n++
			}
		}
	}
	return n
}

// tool is a Runner that answers by the kind of a call.
type tool struct {
	t *testing.T

	xml, pmon, list, help, apps, rows answer
	// identity answers the table of three columns. By default it is a version without the third.
	identity answer
	// table answers --query-gpu, by the queried fields.
	table func(fields []string) answer
	// selected answers a call for some GPUs. all is the answer for all GPUs.
	selected func(kind, indices string, all answer) answer
	// batches are the kinds of the calls of each Run, and tables the fields of each --query-gpu.
	batches [][]string
	tables  [][]string
}

func (f *tool) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	f.t.Helper()
	var results []command.Result
	var kinds []string
	defer func() { f.batches = append(f.batches, kinds) }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, c := range commands {
		require.Equal(f.t, command.NvidiaSMI, c.Tool)
		kind, a := f.answer(c.Args)
		kinds = append(kinds, kind)
		if a.err != nil {
			return results, a.err
		}
		results = append(results, command.Result{Stdout: []byte(a.stdout), Stderr: []byte(a.stderr), ExitCode: a.exit, Truncated: a.truncated})
	}
	return results, nil
}

func (f *tool) answer(args []string) (string, answer) {
	f.t.Helper()
	suffix := ""
	if n := len(args) - 2; n > 0 && args[n] == "-i" {
		suffix = " -i " + args[n+1]
		args = args[:n]
	}
	kind, a := f.answerAll(args)
	if suffix != "" && f.selected != nil {
		a = f.selected(kind, suffix[4:], a)
	}
	return kind + suffix, a
}

func (f *tool) answerAll(args []string) (string, answer) {
	f.t.Helper()
	switch joined := strings.Join(args, " "); {
	case joined == "-q -x":
		return "xml", f.xml
	case joined == "pmon -c 1 -s um":
		return "pmon", f.pmon
	case joined == "-L":
		return "list", f.list
	case joined == "--help-query-gpu":
		return "help", f.help
	case joined == "--query-compute-apps=pid,gpu_uuid,used_memory,process_name --format=csv":
		return "apps", f.apps
	case strings.HasPrefix(joined, "--query-remapped-rows="):
		if f.rows != (answer{}) {
			return "rows", f.rows
		}
		return "rows", answer{stdout: "ERROR: Option " + args[0] + " is not recognized. Please run 'nvidia-smi -h'.\n\n", exit: 255}
	case joined == "--query-gpu=index,uuid,compute_cap --format=csv":
		if f.identity != (answer{}) {
			return "identity", f.identity
		}
		return "identity", answer{stdout: "Field \"compute_cap\" is not a valid field to query.\n", exit: 2}
	case len(args) == 2 && args[1] == "--format=csv" && strings.HasPrefix(args[0], "--query-gpu="):
		fields := strings.Split(strings.TrimPrefix(args[0], "--query-gpu="), ",")
		f.tables = append(f.tables, fields)
		return "table", f.table(fields)
	default:
		f.t.Fatalf("a call that is none of the tool's: %q", args)
		return "", answer{}
	}
}

// answer is the result of a call. An error ends the batch.
type answer struct {
	stdout    string
	stderr    string
	exit      int
	truncated bool
	err       error
}

// file returns a file of testdata as an answer.
func file(t *testing.T, name string) answer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("parse", "testdata", filepath.FromSlash(name)))
	require.NoError(t, err)
	return answer{stdout: string(data)}
}

// clock is a clock that a test advances.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func (c *clock) option() Option { return WithClock(func() time.Time { return c.now }) }

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func newReader(t *testing.T, query string, f *tool, c *clock) *Reader {
	t.Helper()
	f.t = t
	if f.pmon == (answer{}) {
		f.pmon = answer{stdout: "# gpu pid type sm mem enc dec fb command\n# Idx # C/G % % % % MB name\n"}
	}
	if f.table == nil {
		f.table = func([]string) answer { return answer{stderr: "no table", exit: 255} }
	}
	return New(Config{Query: query}, f, gpu.GroupAll, c.option())
}

func read(t *testing.T, r *Reader) *gpu.Node {
	t.Helper()
	node, err := r.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, gpu.NVIDIA, node.Vendor)
	return node
}

// deviceOf returns a device by its id.
func deviceOf(t *testing.T, node *gpu.Node, id string) *gpu.Device {
	t.Helper()
	i := slices.IndexFunc(node.Devices, func(d gpu.Device) bool { return d.ID == id })
	require.GreaterOrEqual(t, i, 0, "no device %s in %v", id, ids(node))
	return &node.Devices[i]
}

func ids(node *gpu.Node) []string {
	all := []string{}
	for _, d := range node.Devices {
		all = append(all, d.ID)
	}
	return all
}

func processOf(t *testing.T, node *gpu.Node, device string, pid int64) *gpu.Process {
	t.Helper()
	var result *gpu.Process
	for i := range node.Processes {
		if p := &node.Processes[i]; (p.DeviceID == device || p.Location.PCIAddress == device) && p.PID == pid {
			require.Nil(t, result, "process %d twice on %s", pid, device)
			result = p
		}
	}
	require.NotNil(t, result, "no process %d on %s", pid, device)
	return result
}

// problems returns the node's problems, one on each line.
func problems(node *gpu.Node) string {
	var b strings.Builder
	for _, p := range node.Problems {
		b.WriteString(p.Device + " | " + p.What + " | " + p.Err.Error() + "\n")
	}
	return b.String()
}

func faults(d *gpu.Device) []gpu.FaultType {
	types := []gpu.FaultType{}
	for _, f := range d.Faults {
		types = append(types, f.Type)
	}
	return types
}

func presence(node *gpu.Node) [gpu.NumPresences]gpu.Opt[int64] { return node.Presence }

func counts(visible, missing int64) [gpu.NumPresences]gpu.Opt[int64] {
	return [gpu.NumPresences]gpu.Opt[int64]{gpu.Visible: gpu.Some(visible), gpu.Missing: gpu.Some(missing)}
}

// handle is the message about the second GPU of h100Tool.
const handle = "Unable to determine the device handle for GPU1: 0000:43:00.0: Unknown Error\n"

// withoutSecond removes the second GPU from the XML of h100Tool.
func withoutSecond(xml string) string {
	before, _, _ := strings.Cut(xml, "\t<gpu id=\"00000000:43:00.0\">")
	return before + "</nvidia_smi_log>\n"
}

// alone returns the XML of h100Tool for a machine on which the driver counts one GPU.
func alone(xml string) string {
	return strings.Replace(withoutSecond(xml), "<attached_gpus>2", "<attached_gpus>1", 1)
}
