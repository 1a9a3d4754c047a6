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
	return New([]string{etc, run}), etc, run
}

func TestRegistry(t *testing.T) {
	r, etc, run := newRegistry(t)
	write(t, etc, "nvidia.json", nvidiaJSON)
	write(t, run, "amd.yaml", amdYAML)
	write(t, run, "notes.txt", "x")
	require.NoError(t, r.Refresh())

	for name, want := range map[string][]string{
		"k8s.gpu.nvidia.com/device=gpu-0":                 {"/dev/nvidia0", "/dev/nvidia-modeset"},
		"k8s.gpu.nvidia.com/device=gpu-0-mig-1g18gb-19-0": {"/run/nvidia/driver/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap11", "/run/nvidia/driver/dev/nvidia-caps/nvidia-cap12"},
		"k8s.gpu.nvidia.com/device=env-only":              nil,
		"k8s.gpu.nvidia.com/device=other":                 nil,
		"k8s.gpu.amd.com/gpu=claim-1-gpu-1-129":           {"/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"},
	} {
		assert.Equal(t, want, r.DeviceNodes(name), name)
	}
}

func TestRegistryChanges(t *testing.T) {
	r, etc, run := newRegistry(t)
	require.NoError(t, r.Refresh(), "no directories")
	name := "k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"
	assert.Empty(t, r.DeviceNodes(name))

	write(t, etc, "amd.yaml", amdYAML)
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"}, r.DeviceNodes(name))

	write(t, etc, "amd.yaml", strings.ReplaceAll(amdYAML, "claim-1-gpu-1-129", "claim-1-gpu-1-1300"))
	require.NoError(t, r.Refresh())
	assert.Empty(t, r.DeviceNodes(name))

	write(t, run, "amd.yaml", strings.ReplaceAll(amdYAML, "card1", "card7"))
	write(t, etc, "amd.yaml", amdYAML)
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"/dev/kfd", "/dev/dri/card7", "/dev/dri/renderD129"}, r.DeviceNodes(name), "the running containers' files take precedence")

	require.NoError(t, os.RemoveAll(run))
	require.NoError(t, r.Refresh())
	assert.Equal(t, []string{"/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"}, r.DeviceNodes(name))
}

// A file is read again only when it changes.
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
	assert.NotEmpty(t, r.DeviceNodes("k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"))
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
			assert.NotEmpty(t, r.DeviceNodes("k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"), "the other file is read")
		})
	}
	r, etc, _ := newRegistry(t)
	write(t, etc, "long.json", strings.Repeat(" ", maxSpec+1))
	require.ErrorContains(t, r.Refresh(), "longer than")
	require.NoError(t, os.MkdirAll(filepath.Join(etc, "dir.json"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(etc, "long.json")))
	require.NoError(t, r.Refresh(), "a directory is no file")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(nvidiaJSON))
	f.Add([]byte(amdYAML))
	f.Fuzz(func(t *testing.T, data []byte) {
		devices, err := parse(data)
		if err != nil {
			assert.Nil(t, devices)
		}
	})
}

// A directory that cannot be read is reported, and the other is still read.
func TestRegistryUnreadableDir(t *testing.T) {
	assert.Len(t, DefaultDirs(), 2)
	r, etc, run := newRegistry(t)
	write(t, filepath.Dir(etc), "etc", "a file")
	write(t, run, "amd.yaml", amdYAML)
	require.ErrorContains(t, r.Refresh(), etc)
	assert.NotEmpty(t, r.DeviceNodes("k8s.gpu.amd.com/gpu=claim-1-gpu-1-129"))
}
