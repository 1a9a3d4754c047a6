// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package release

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the directory of an unchanged Debian.
type root string

// fresh unpacks a Debian.
func fresh(t *testing.T) root {
	t.Helper()
	tar := requiredEnv(t, "RELEASE_ROOT")
	directory := t.TempDir()
	require.NoError(t, os.Chmod(directory, 0o755)) // users other than root go through it
	output(t, "tar", "-C", directory, "--numeric-owner", "--exclude=./dev/*", "-xf", tar)
	return root(directory)
}

// command is a command in the Debian, with a process table and a network of its own, and the device files of this machine.
func (r root) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c",
		`mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && ip link set lo up && exec chroot "$0" /bin/sh -c "$1"`, string(r), script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run runs a shell's script in the Debian and returns what it prints.
func (r root) run(t *testing.T, script string) string {
	t.Helper()
	cmd := r.command(t.Context(), script)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, out)
	return string(out)
}

// path is a path of the Debian as this machine sees it.
func (r root) path(inside string) string { return filepath.Join(string(r), inside) }

// put copies a file of this machine into the Debian.
func (r root) put(t *testing.T, file, inside string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.path(inside), content, 0o755))
}

// files are the type, mode, owner and path of everything in the Debian, but for what dpkg, ldconfig and useradd keep for themselves.
func (r root) files(t *testing.T) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(r.run(t, `find / -xdev -path /proc -prune -o -printf '%y %m %u:%g %p\n' | LC_ALL=C sort`)) {
		_, name, _ := strings.Cut(line, "/")
		name = "/" + name
		own := false
		for _, prefix := range []string{"/var/lib/dpkg/", "/var/log/", "/var/cache/", "/tmp/", "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock"} {
			own = own || strings.HasPrefix(name, prefix)
		}
		if !own {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// accounts are the users and groups.
func (r root) accounts(t *testing.T) string {
	return r.run(t, "cat /etc/passwd /etc/group /etc/shadow /etc/gshadow")
}
