// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const unitName = "otelcol-gpu.service"

// unit reads the shipped unit.
func unit(t *testing.T) (text string, settings map[string]string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", unitName))
	require.NoError(t, err)
	settings = map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			settings[key] = value
			if key, value, ok := strings.Cut(strings.Trim(value, `"`), "="); ok {
				settings[key] = value // of Environment
			}
		}
	}
	return string(raw), settings
}

// configurations returns the files of the options --config.
func configurations(options string) (files []string) {
	for option := range strings.SplitSeq(options, "--config ") {
		if file := strings.TrimSpace(option); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// The unit runs existing configurations, as an unprivileged user without capabilities.
func TestUnit(t *testing.T) {
	t.Parallel()
	_, settings := unit(t)
	assert.Equal(t, "/usr/local/bin/otelcol-gpu $OTELCOL_OPTIONS", settings["ExecStart"])
	assert.Equal(t, []string{"/etc/otelcol-gpu/agent.yaml", "/usr/local/share/otelcol-gpu/config/overlays/view.yaml"}, configurations(settings["OTELCOL_OPTIONS"]))
	assert.Equal(t, "yes", settings["DynamicUser"])
	assert.Equal(t, "yes", settings["NoNewPrivileges"])
	bounding, there := settings["CapabilityBoundingSet"]
	assert.True(t, there)
	assert.Empty(t, bounding)
	assert.NotContains(t, settings, "PrivateDevices", "the driver's device files would not be there")
	assert.NotContains(t, settings, "PrivateUsers")
	assert.NotContains(t, settings, "ProtectProc", "processes of other users would not be there")
}

// systemd itself understands every line.
func TestUnitIsUnderstood(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the unit was not verified by systemd")
	}
	text, _ := unit(t)
	file := filepath.Join(t.TempDir(), unitName)
	text = strings.Replace(text, "/usr/local/bin/otelcol-gpu ", "/bin/true ", 1) // which need not be installed
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		assert.NotContains(t, line, unitName, "of our unit")
	}
}
