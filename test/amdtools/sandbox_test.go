// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// directory is the variable that names the directory of the Debian systems with the tools, by their code names.
const directory = "AMD_TOOLS_DIR"

// inside mounts a simulated machine at the paths of the kernel's files in a Debian system, in separate namespaces, and runs a tool there.
// Its arguments are the system, the machine, and the tool's.
const inside = `
mount --make-rprivate /
mount --bind "$2/sys" "$1/sys"
mount --bind "$2/proc" "$1/proc"
cd /
system="$1"; shift 2
exec chroot "$system" "$@"
`

// sandbox runs the tools of a Debian system on a simulated machine. It is a command.Runner.
type sandbox struct {
	system string
	tree   *amdgpusim.Tree
}

func newSandbox(t testing.TB, release string, tree *amdgpusim.Tree) *sandbox {
	t.Helper()
	dir := os.Getenv(directory)
	if dir == "" {
		t.Skip(directory + " is not set; test/amdtools/run.sh sets it and gets the tools")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a simulated machine's files")
	}
	system, err := filepath.EvalSymlinks(filepath.Join(dir, release)) // this machine may be such a system
	require.NoError(t, err)
	require.DirExists(t, system)
	return &sandbox{system: system, tree: tree}
}

// Run implements command.Runner.
func (s *sandbox) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	for _, c := range commands {
		args := []string{
			"--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", inside, "sh", s.system, s.tree.Root, string(c.Tool),
		}
		cmd := exec.CommandContext(ctx, "unshare", append(args, c.Args...)...)
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/root"}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return results, err
		}
		results = append(results, command.Result{
			Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: cmd.ProcessState.ExitCode(),
		})
	}
	return results, nil
}

func canRun() bool { return os.Getenv(directory) != "" && os.Geteuid() == 0 }
