// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const minors = `config 1
monitor 2
gpu0/gi1/access 11
gpu0/gi1/ci0/access 12
gpu1/gi13/access 250
gpu1/gi13/ci2/access 251
garbage
gpu0/gix/access 9
gpu0/gi1/ci0/access x
gpu0/gi1/ci0/da0/access 13
gpu0/gi1/ci0/status 14
gpu0/access 15
`

func TestDeviceNodeKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mig-minors")
	require.NoError(t, os.WriteFile(file, []byte(minors), 0o600))
	for name, tt := range map[string]struct{ nodes, want []string }{
		"none":          {nil, nil},
		"NVIDIA":        {[]string{"/dev/nvidia0", "/dev/nvidia-modeset", "/dev/nvidiactl"}, []string{"nvidia0"}},
		"another root":  {[]string{"/run/nvidia/driver/dev/nvidia0"}, []string{"nvidia0"}},
		"MIG":           {[]string{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap11", "/run/nvidia/driver/dev/nvidia-caps/nvidia-cap12"}, []string{"nvidia0/gi1/ci0"}},
		"unknown guard": {[]string{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap99"}, nil},
		"no guard":      {[]string{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-capx"}, []string{"nvidia0"}},
		"channel":       {[]string{"/dev/nvidia-caps-imex-channels/channel0"}, nil},
		"AMD":           {[]string{"/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"}, []string{"card1", "renderD129"}},
		"long number":   {[]string{"/dev/dri/card1234567890"}, nil},
	} {
		assert.Equal(t, tt.want, NewDeviceNodes(file).Keys(tt.nodes), name)
	}
}

// Without the driver's list it is unknown which instance a guard is for, and the GPU does not take its place.
func TestDeviceNodeKeysWithoutMinors(t *testing.T) {
	dir := t.TempDir()
	nodes := NewDeviceNodes(filepath.Join(dir, "mig-minors"))
	mig := []string{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12"}
	assert.Empty(t, nodes.Keys(mig))
	assert.Equal(t, []string{"nvidia0"}, nodes.Keys(mig[:1]))

	require.NoError(t, os.Mkdir(nodes.minors, 0o700))
	assert.Empty(t, nodes.Keys(mig), "not a file")

	require.NoError(t, os.Remove(nodes.minors))
	require.NoError(t, os.WriteFile(nodes.minors, []byte(minors), 0o600))
	assert.Equal(t, []string{"nvidia0/gi1/ci0"}, nodes.Keys(mig), "the driver was loaded")
	require.NoError(t, os.Remove(nodes.minors))
	assert.Equal(t, []string{"nvidia0/gi1/ci0"}, nodes.Keys(mig), "the list is read once")
}

func TestParseMinors(t *testing.T) {
	assert.Equal(t, map[int]instance{
		11: {key: "nvidia0/gi1"}, 12: {key: "nvidia0/gi1/ci0", compute: true},
		250: {key: "nvidia1/gi13"}, 251: {key: "nvidia1/gi13/ci2", compute: true},
	}, parseMinors([]byte(minors)))
}

func FuzzParseMinors(f *testing.F) {
	f.Add([]byte(minors))
	f.Fuzz(func(t *testing.T, data []byte) {
		for minor, i := range parseMinors(data) {
			assert.GreaterOrEqual(t, minor, 0)
			assert.True(t, strings.HasPrefix(i.key, "nvidia"))
		}
	})
}

func FuzzDeviceNodeKeys(f *testing.F) {
	f.Add("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12")
	f.Fuzz(func(_ *testing.T, first, second string) {
		NewDeviceNodes(os.DevNull).Keys([]string{first, second})
	})
}
