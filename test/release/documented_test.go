// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package release

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// section returns the commands of a section of a page of docs, in order.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, ok, "%s: %s", page, heading)
	after, _, _ = strings.Cut(after, "\n## ")
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(after, -1) {
		script.WriteString(block[1] + "\n")
	}
	require.NotEmpty(t, script.String(), heading)
	return script.String()
}

// The commands of docs/start/install.md and docs/operate/upgrade.md install and upgrade the package and the archive of this release, and those of
// docs/reference/attribution.md install Slurm's scripts of the package. The version before and after is the same one; TestUpgradeKeepsConfiguration
// has two.
func TestDocumentedInstallation(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, pattern := range []string{"*.deb", "*_linux_*.tar.gz"} {
		file := one(t, pattern)
		r.put(t, file, filepath.Join("/root", filepath.Base(file)))
	}
	do := func(page, heading string) string {
		t.Helper()
		return r.run(t, "set -e\ncd /root\nexec </dev/null\n"+section(t, page, heading))
	}
	do("start/install.md", "Linux: deb and rpm")
	do("reference/attribution.md", "Slurm")
	assert.FileExists(t, r.path("/etc/slurm/prolog.d/50-gpu-jobs.sh"))
	do("operate/upgrade.md", "Before you upgrade")
	printed := do("operate/upgrade.md", "A server with the package")
	assert.Contains(t, printed, requiredEnv(t, "COMMIT"))
	assert.Contains(t, printed, "\nno difference\n")
	do("start/install.md", "Linux: archive")
	do("operate/upgrade.md", "A server with the archive")
	assert.Contains(t, r.run(t, "/usr/local/bin/otelcol-gpu --version"), requiredEnv(t, "COMMIT"))
	assert.FileExists(t, r.path("/etc/systemd/system/otelcol-gpu.service"))
}
