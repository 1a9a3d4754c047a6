// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestShell(t *testing.T) {
	s := &Shell{Tool: NewTool()}
	m := &Machine{Number: 1, GPUs: 2}
	w := Workload{PodUID: "3d6f8a50-0000-4000-8000-000000000001", ContainerID: strings.Repeat("ab", 32)}
	run := func(argv ...string) (string, string, int) {
		var stdout, stderr bytes.Buffer
		code, err := s.Run(m, w, argv, time.Now(), &stdout, &stderr)
		require.NoError(t, err)
		return stdout.String(), stderr.String(), code
	}
	out, complaints, code := run("sh", "-c", "…", "gpureceiver", "SEP", "8", "LC_ALL=C", "-",
		"3", "nvidia-smi", "--query-gpu=index,uuid", "--format=csv", "2", "nvidia-smi", "-L")
	assert.Zero(t, code)
	assert.Equal(t, "SEP b\nindex, uuid\n0, GPU-00000001-0000-4000-8000-000000000000\n1, GPU-00000001-0000-4000-8000-000000000001\n\nSEP 0\n"+
		"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nSEP 2\n", out)
	assert.Equal(t, "\nSEP\n\nSEP\n", complaints)

	out, _, code = run("sh", "-c", "…", "gpureceiver", "SEP", "1", "20001.99")
	assert.Zero(t, code)
	assert.Contains(t, out, "SEP 20001\n20001 (python3.12) S ")
	assert.Contains(t, out, "0::/kubepods.slice/kubepods-pod3d6f8a50_0000_4000_8000_000000000001.slice/cri-containerd-abab")
	assert.Contains(t, out, "SEP 99\nSEP c\nSEP e\n")

	for name, argv := range map[string][]string{
		"no shell": {"bash"}, "no calls": {"sh", "-c", "…", "g", "SEP", "8", "A=1", "B=2"}, "another tool": {"sh", "-c", "…", "g", "SEP", "8", "-", "1", "rm"},
		"no pid": {"sh", "-c", "…", "g", "SEP", "1", "a"}, "cut off": {"sh", "-c", "…", "g", "SEP", "8", "-", "3", "nvidia-smi"},
	} {
		_, _, code := run(argv...)
		assert.NotZero(t, code, name)
	}
}
