// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
`

const nvidiaJSON = `{"cdiVersion":"0.5.0","kind":"k8s.gpu.nvidia.com/device",
 "devices":[
  {"name":"gpu-0","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"},null,{"path":"/dev/nvidia-modeset"}]}},
  {"name":"gpu-0-mig-1g18gb-19-0","containerEdits":{"deviceNodes":[
    {"path":"/dev/nvidia0","hostPath":"/run/nvidia/driver/dev/nvidia0"},
    {"path":"/dev/nvidia-caps/nvidia-cap11"},
    {"path":"/dev/nvidia-caps/nvidia-cap12","hostPath":"/run/nvidia/driver/dev/nvidia-caps/nvidia-cap12"}]}},
  {"name":"unknown-guard","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0"},{"path":"/dev/nvidia-caps/nvidia-cap99"}]}},
  {"name":"channel","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia-caps-imex-channels/channel0"}]}},
  {"name":"env-only","containerEdits":{"env":["A=1"]}}],
 "containerEdits":{"deviceNodes":[{"path":"/dev/nvidiactl"},{"path":"/dev/nvidia-uvm"}]}}`

const amdYAML = `cdiVersion: 0.6.0
kind: k8s.gpu.amd.com/gpu
devices:
- name: claim-1-gpu-1-129
  containerEdits:
    deviceNodes:
    - path: /dev/kfd
    - path: /dev/dri/card1
    - path: /dev/dri/renderD129
`

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

func newRegistry(t *testing.T) (r *Registry, etc, run string) {
	t.Helper()
	root := t.TempDir()
	etc, run = filepath.Join(root, "etc"), filepath.Join(root, "run")
	write(t, root, "mig-minors", minors)
	return New([]string{etc, run}, filepath.Join(root, "mig-minors")), etc, run
}

func TestRegistry(t *testing.T) {
	r, etc, run := newRegistry(t)
	write(t, etc, "nvidia.json", nvidiaJSON)
	write(t, run, "amd.yaml", amdYAML)
	write(t, run, "notes.txt", "x")
	require.NoError(t, r.Refresh())

	for name, want := range map[string][]string{
		"k8s.gpu.nvidia.com/device=gpu-0":                 {"nvidia0"},
		"k8s.gpu.nvidia.com/device=gpu-0-mig-1g18gb-19-0": {"nvidia0/gi1/ci0"},
		"k8s.gpu.nvidia.com/device=unknown-guard":         nil,
		"k8s.gpu.nvidia.com/device=channel":               nil,
		"k8s.gpu.nvidia.com/device=env-only":              nil,
		"k8s.gpu.nvidia.com/device=other":                 nil,
		"k8s.gpu.amd.com/gpu=claim-1-gpu-1-129":           {"card1", "renderD129"},
	} {
		assert.Equal(t, want, r.Device(name), name)
	}
}

func TestRegistryChanges(t *testing.T) {
	r, etc, run := newRegistry(t)
	require.NoError(t, r.Refresh(), "no folders: nothing is known")
	name := "k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"
	assert.Empty(t, r.Device(name))

	write(t, etc, "amd.yaml", amdYAML)
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"card1", "renderD129"}, r.Device(name))

	write(t, etc, "amd.yaml", strings.ReplaceAll(amdYAML, "129", "1300"))
	require.NoError(t, r.Refresh())
	assert.Empty(t, r.Device(name))

	write(t, run, "amd.yaml", strings.ReplaceAll(amdYAML, "card1", "card7"))
	write(t, etc, "amd.yaml", amdYAML)
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"card7", "renderD129"}, r.Device(name), "the running containers' files go first")

	require.NoError(t, os.RemoveAll(run))
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"card1", "renderD129"}, r.Device(name))
}

// A file is read once for as long as it stays the same.
func TestRegistryReadsOnce(t *testing.T) {
	r, etc, _ := newRegistry(t)
	write(t, etc, "amd.yaml", amdYAML)
	require.NoError(t, r.Refresh())
	path := filepath.Join(etc, "amd.yaml")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", len(amdYAML))), 0o600))
	require.NoError(t, os.Chtimes(path, time.Time{}, info.ModTime()))
	require.NoError(t, r.Refresh())
	assert.NotEmpty(t, r.Device("k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"))
}

func TestRegistryOddFiles(t *testing.T) {
	tests := map[string]string{
		"empty":     "",
		"garbage":   "\x00\x01",
		"truncated": nvidiaJSON[:200],
		"text":      "just text",
		"a list":    "[1,2]",
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			r, etc, _ := newRegistry(t)
			write(t, etc, "a.json", content)
			write(t, etc, "b.yaml", amdYAML)
			err := r.Refresh()
			if name != "empty" {
				require.ErrorContains(t, err, "a.json")
			}
			assert.NotEmpty(t, r.Device("k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"), "the other file is read")
		})
	}
	r, etc, _ := newRegistry(t)
	write(t, etc, "long.json", strings.Repeat(" ", maxSpec+1))
	require.ErrorContains(t, r.Refresh(), "longer than")
	require.NoError(t, os.MkdirAll(filepath.Join(etc, "dir.json"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(etc, "long.json")))
	require.NoError(t, r.Refresh(), "a folder is no file")
}

// Without the driver's table it is not known which instance a guard is for, and the GPU is not put in its place.
func TestRegistryNoMinors(t *testing.T) {
	r, etc, _ := newRegistry(t)
	r.minors += ".gone"
	write(t, etc, "nvidia.json", nvidiaJSON)
	require.NoError(t, r.Refresh())
	assert.Empty(t, r.Device("k8s.gpu.nvidia.com/device=gpu-0-mig-1g18gb-19-0"))
	assert.Equal(t, []string{"nvidia0"}, r.Device("k8s.gpu.nvidia.com/device=gpu-0"))

	r.minors = strings.TrimSuffix(r.minors, ".gone")
	assert.Equal(t, []string{"nvidia0/gi1/ci0"}, r.Device("k8s.gpu.nvidia.com/device=gpu-0-mig-1g18gb-19-0"), "the driver has come")
}

func TestParseMinors(t *testing.T) {
	assert.Equal(t, map[int64]instance{
		11: {name: "nvidia0/gi1"}, 12: {name: "nvidia0/gi1/ci0", compute: true},
		250: {name: "nvidia1/gi13"}, 251: {name: "nvidia1/gi13/ci2", compute: true},
	}, parseMinors([]byte(minors)))
}

func TestUUID(t *testing.T) {
	const uuid = "8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d11"
	for name, want := range map[string]string{
		"nvidia.com/gpu=GPU-" + uuid:                "GPU-" + uuid,
		"nvidia.com/mig=MIG-" + uuid:                "MIG-" + uuid,
		"k8s.gpu.nvidia.com/claim=c1-GPU-" + uuid:   "GPU-" + uuid,
		"nvidia.com/gpu=0":                          "",
		"nvidia.com/gpu=GPU-short":                  "",
		"GPU-" + uuid:                               "",
		"k8s.gpu.nvidia.com/device=" + uuid + "gpu": "",
	} {
		assert.Equal(t, want, UUID(name), name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(nvidiaJSON))
	f.Add([]byte(amdYAML))
	f.Fuzz(func(t *testing.T, data []byte) {
		devices, err := parse(data)
		if err != nil {
			assert.Nil(t, devices)
		}
		for _, nodes := range devices {
			New(nil, os.DevNull).names(nodes)
		}
	})
}

func FuzzParseMinors(f *testing.F) {
	f.Add([]byte(minors))
	f.Fuzz(func(t *testing.T, data []byte) {
		for minor, i := range parseMinors(data) {
			assert.GreaterOrEqual(t, minor, int64(0))
			assert.True(t, strings.HasPrefix(i.name, "nvidia"))
		}
	})
}
