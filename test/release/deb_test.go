// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package release

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience bounds waits for what takes a moment on an idle machine.
const patience = 5 * time.Minute

const installPackage = "dpkg -i /tmp/package.deb </dev/null"

// installed is a fresh Debian with the package.
func installed(t *testing.T) root {
	t.Helper()
	r := fresh(t)
	r.put(t, one(t, "*.deb"), "/tmp/package.deb")
	r.run(t, installPackage)
	return r
}

func TestInstallation(t *testing.T) {
	t.Parallel()
	r := installed(t)
	for _, want := range []string{
		"f 755 root:root /usr/bin/otelcol-gpu",
		"f 755 root:root /usr/bin/otelgpu",
		"f 644 root:root /usr/lib/systemd/system/otelcol-gpu.service",
		"d 755 root:root /etc/otelcol-gpu",
		"f 640 root:otelcol-gpu /etc/otelcol-gpu/agent.yaml",
		"f 640 root:otelcol-gpu /etc/otelcol-gpu/environment",
		"f 644 root:root /usr/share/otelcol-gpu/config/overlays/persistent-queue.yaml",
		"f 755 root:root /usr/share/otelcol-gpu/slurm/prolog.sh",
		"f 755 root:root /usr/share/otelcol-gpu/slurm/epilog.sh",
		"f 644 root:root /usr/share/doc/otelcol-gpu/copyright",
		"f 644 root:root /usr/share/doc/otelcol-gpu/otelcol-gpu.cdx.json",
	} {
		assert.Contains(t, r.files(t), want)
	}
	conffiles := r.run(t, "dpkg-query -W -f '${Conffiles}' otelcol-gpu")
	assert.Contains(t, conffiles, " /etc/otelcol-gpu/agent.yaml ")
	assert.Contains(t, conffiles, " /etc/otelcol-gpu/environment ")

	user := strings.Split(strings.TrimSpace(r.run(t, "getent passwd otelcol-gpu")), ":")
	require.Len(t, user, 7)
	assert.Equal(t, []string{"/nonexistent", "/usr/sbin/nologin"}, user[5:])
	assert.NoFileExists(t, r.path("/etc/systemd/system/multi-user.target.wants/otelcol-gpu.service"), "an installation starts nothing")

	assert.Empty(t, r.run(t, "systemd-analyze verify --man=no otelcol-gpu.service 2>&1 | grep otelcol-gpu || true"))
	assert.Contains(t, r.run(t, "otelcol-gpu --version"), requiredEnv(t, "COMMIT"))
	assert.Contains(t, r.run(t, "otelgpu --version"), requiredEnv(t, "COMMIT"))
	r.run(t, "dpkg --verify otelcol-gpu")
}

// What the unit starts, as its user and with its environment, reads the simulated GPUs.
func TestUnitRuns(t *testing.T) {
	t.Parallel()
	r := installed(t)
	r.put(t, requiredEnv(t, "RELEASE_LIBRARY"), "/usr/lib/libnvidia-ml.so.1")
	r.put(t, filepath.Join("..", "nvmlsim", "scenarios", "demo.scenario"), "/usr/share/demo.scenario")
	require.NoError(t, os.WriteFile(r.path("/etc/otelcol-gpu/environment"), []byte("EXPORTER_PORT=9404\nCOLLECTION_INTERVAL=1s\n"), 0o600))

	unit, err := os.ReadFile(r.path("/usr/lib/systemd/system/otelcol-gpu.service"))
	require.NoError(t, err)
	var start, user string
	environment := []string{"NVMLSIM_SCENARIO=/usr/share/demo.scenario"}
	for line := range strings.Lines(string(unit)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "ExecStart":
			start = value
		case "User":
			user = value
		case "EnvironmentFile":
			lines, err := os.ReadFile(r.path(strings.TrimPrefix(value, "-")))
			require.NoError(t, err)
			environment = append(environment, strings.Fields(string(lines))...)
		case "Environment":
			environment = append(environment, "'"+strings.Trim(strings.ReplaceAll(value, "%H", "machine"), `"`)+"'")
		}
	}
	require.True(t, strings.HasPrefix(start, "/usr/bin/otelcol-gpu "), start)
	require.Equal(t, "otelcol-gpu", user)
	require.Contains(t, environment, "EXPORTER_PORT=9404")

	// The kernel forgets the signal of unshare's --kill-child when the user changes, so setpriv asks for it again.
	cmd := r.command(t.Context(), "ldconfig && exec setpriv --pdeathsig=KILL --reuid="+user+" --regid="+user+" --clear-groups --bounding-set=-all --no-new-privs env "+strings.Join(environment, " ")+" sh -c 'exec "+start+"'")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			_, _ = log.Seek(0, io.SeekStart)
			content, _ := io.ReadAll(log)
			t.Logf("the collector's log:\n%s", content)
		}
	})
	page := func() string { return scrape(t, cmd.Process.Pid, "9404") }
	require.Eventually(t, func() bool { return strings.Contains(page(), "hw_gpu_info{") }, patience, 200*time.Millisecond)
	assert.Equal(t, 8, strings.Count(page(), "\nhw_gpu_info{"), "GPUs of the demonstration's scenario")
}

// upgraded installs the package's next version, which has the given text as its agent.yaml and is otherwise the same.
func (r root) upgraded(t *testing.T, agent string) {
	t.Helper()
	next := r.path("/tmp/next")
	output(t, "dpkg-deb", "-R", one(t, "*.deb"), next)
	control, err := os.ReadFile(filepath.Join(next, "DEBIAN", "control"))
	require.NoError(t, err)
	version := strings.TrimSpace(r.run(t, "dpkg-query -W -f '${Version}' otelcol-gpu"))
	require.Contains(t, string(control), "\nVersion: "+version+"\n")
	changed := strings.Replace(string(control), "\nVersion: "+version+"\n", "\nVersion: "+version+".1\n", 1)
	require.NoError(t, os.WriteFile(filepath.Join(next, "DEBIAN", "control"), []byte(changed), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(next, "etc", "otelcol-gpu", "agent.yaml"), []byte(agent), 0o640))
	require.NoError(t, os.RemoveAll(filepath.Join(next, "DEBIAN", "md5sums")))
	output(t, "dpkg-deb", "-Znone", "-b", next, r.path("/tmp/package.deb"))
	r.run(t, "dpkg -i --force-confdef --force-confold /tmp/package.deb </dev/null")
	assert.Equal(t, version+".1", strings.TrimSpace(r.run(t, "dpkg-query -W -f '${Version}' otelcol-gpu")))
}

// An upgrade keeps what the administrator wrote, also if the new package's own file differs.
func TestUpgradeKeepsConfiguration(t *testing.T) {
	t.Parallel()
	r := installed(t)
	const line = "# the administrator's line\n"
	edit := func(inside string) string {
		file, err := os.OpenFile(r.path(inside), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = file.WriteString(line)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		content, err := os.ReadFile(r.path(inside))
		require.NoError(t, err)
		return string(content)
	}
	agent, environment := edit("/etc/otelcol-gpu/agent.yaml"), edit("/etc/otelcol-gpu/environment")
	r.upgraded(t, "# of the next version\n")
	for file, want := range map[string]string{
		"agent.yaml": agent, "environment": environment, "agent.yaml.dpkg-dist": "# of the next version\n",
	} {
		content, err := os.ReadFile(r.path("/etc/otelcol-gpu/" + file))
		require.NoError(t, err)
		assert.Equal(t, want, string(content), file)
	}
	assert.NoFileExists(t, r.path("/etc/otelcol-gpu/environment.dpkg-dist"))
}

// An upgrade replaces a configuration file that was not changed.
func TestUpgradeReplacesUnchangedConfiguration(t *testing.T) {
	t.Parallel()
	r := installed(t)
	r.upgraded(t, "# of the next version\n")
	content, err := os.ReadFile(r.path("/etc/otelcol-gpu/agent.yaml"))
	require.NoError(t, err)
	assert.Equal(t, "# of the next version\n", string(content))
	assert.NoFileExists(t, r.path("/etc/otelcol-gpu/agent.yaml.dpkg-dist"))
}

// A removal keeps the configuration, a purge leaves nothing: no file, no user, no service that starts.
func TestPurge(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	files, accounts := r.files(t), r.accounts(t)
	r.put(t, one(t, "*.deb"), "/tmp/package.deb")
	r.run(t, installPackage)
	r.run(t, "systemctl enable otelcol-gpu.service")
	require.NotEmpty(t, r.run(t, "ls /etc/systemd/system/multi-user.target.wants/otelcol-gpu.service"))
	r.run(t, "mkdir -p /var/lib/otelcol-gpu && echo kept >/var/lib/otelcol-gpu/queue && echo mine >/etc/otelcol-gpu/second.yaml")

	r.run(t, "dpkg -r otelcol-gpu")
	assert.FileExists(t, r.path("/etc/otelcol-gpu/agent.yaml"))
	assert.FileExists(t, r.path("/var/lib/otelcol-gpu/queue"))
	assert.NoFileExists(t, r.path("/usr/bin/otelcol-gpu"))

	r.run(t, "dpkg -P otelcol-gpu")
	assert.Equal(t, files, r.files(t))
	assert.Equal(t, accounts, r.accounts(t))
}
