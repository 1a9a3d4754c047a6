// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The rpm has the files, owners and settings of the deb. It is read by rpm, not installed: there is no such system here.
func TestRPM(t *testing.T) {
	t.Parallel()
	file := one(t, "*.rpm")
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("rpm is not here: the rpm was built and not looked into")
	}
	query := func(args ...string) string {
		return output(t, "rpm", append([]string{"--dbpath", t.TempDir(), "-qp", "--nosignature"}, append(args, file)...)...)
	}
	listed := query("--qf", `[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]`)
	for _, want := range []string{
		"-rwxr-xr-x root:root  /usr/bin/otelcol-gpu\n",
		"-rwxr-xr-x root:root  /usr/bin/otelgpu\n",
		"-rw-r--r-- root:root  /usr/lib/systemd/system/otelcol-gpu.service\n",
		"-rw-r----- root:otelcol-gpu cn /etc/otelcol-gpu/agent.yaml\n", // c: configuration, n: an upgrade replaces nothing
		"-rw-r----- root:otelcol-gpu cn /etc/otelcol-gpu/environment\n",
	} {
		assert.Contains(t, listed, want)
	}
	assert.Contains(t, query("--requires"), "glibc >= 2.")
	scripts := query("--scripts")
	assert.Equal(t, 4, strings.Count(scripts, " scriptlet (using /bin/sh):"), scripts)
}
