// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// usual are the devices that every job may use: /dev/null and its like, nvidiactl, nvidia-modeset, a disk.
const usual = "c 1:3 rwm\nc 136:* rwm\nc 195:255 rwm\nc 195:254 rwm\nb 8:0 r\n"

func TestReadDevices(t *testing.T) {
	got, err := ReadDevices(directory(t, map[string]string{
		"slurm/uid_1000/job_12/devices.list":        usual + "c 195:0 rwm\nc 195:1 rw\nc 195:0 rwm\n",
		"slurm/uid_1000/job_12/step_0/devices.list": usual + "c 195:0 rwm\n",
		"slurm/uid_1001/job_13/devices.list":        usual + "c 195:1 rwm\n",
		"slurm/uid_1001/job_14/devices.list":        usual,
		"slurm_n1/uid_1/job_15/devices.list":        usual + "c 226:1 rwm\nc 226:129 rwm\nc 226:64 rwm\n",
		"slurm/uid_1001/job_x/devices.list":         "a *:* rwm\n",
		"slurm/uid_1001/devices.list":               "a *:* rwm\n",
		"slurm/devices.list":                        "a *:* rwm\n",
		"docker/devices.list":                       "c 195:7 rwm\n",
	}))
	require.NoError(t, err)
	assert.Equal(t, []string{"12"}, got.Jobs["nvidia0"])
	assert.ElementsMatch(t, []string{"12", "13"}, got.Jobs["nvidia1"])
	assert.Equal(t, []string{"15"}, got.Jobs["card1"])
	assert.Equal(t, []string{"15"}, got.Jobs["renderD129"])
	assert.Len(t, got.Jobs, 4)
}

// A job that may use all devices shows nothing of what it was given, and the devices of others may be its own as well.
func TestUnlimitedDevices(t *testing.T) {
	for _, line := range []string{"a *:* rwm", "c *:* rwm", "c 195:* rwm", "c 226:* rwm", "a *:*"} {
		t.Run(line, func(t *testing.T) {
			got, err := ReadDevices(directory(t, map[string]string{
				"slurm/uid_1/job_1/devices.list": usual + "c 195:0 rwm\n", "slurm/uid_1/job_2/devices.list": line + "\n",
			}))
			require.ErrorIs(t, err, ErrNoDevices)
			assert.Nil(t, got.Jobs)
		})
	}
}

func TestReadDevicesFails(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"version 2":      {},
		"no Slurm":       {"docker/devices.list": "a *:* rwm\n"},
		"a huge list":    {"slurm/uid_1/job_1/devices.list": strings.Repeat("c 1:3 rwm\n", maxFile)},
		"a folder there": {"slurm/uid_1/job_1/devices.list/x": ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadDevices(directory(t, files))
			require.Error(t, err)
			assert.Nil(t, got.Jobs)
		})
	}
	_, err := ReadDevices(t.TempDir() + "/missing")
	require.ErrorIs(t, err, ErrNoDevices)
}

// A job that ends while it is read holds nothing any more.
func TestJobEndsMeanwhile(t *testing.T) {
	dir := directory(t, map[string]string{"slurm/uid_1/job_2/devices.list": "c 195:3 rwm\n"})
	require.NoError(t, os.MkdirAll(dir+"/slurm/uid_1/job_1", 0o755))
	got, err := ReadDevices(dir)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"nvidia3": {"2"}}, got.Jobs)
}

func FuzzDevices(f *testing.F) {
	f.Add(usual + "c 195:0 rwm\nc 226:128 rwm\n")
	f.Add("a *:* rwm\n")
	f.Add("c 195: rwm\nc\n\x00")
	f.Fuzz(func(t *testing.T, content string) {
		nodes, all := parseDevices([]byte(content))
		assert.False(t, all && nodes != nil)
		for _, node := range nodes {
			assert.Regexp(t, `^(nvidia|card|renderD)\d{1,3}$`, node)
		}
	})
}
