// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asNobody opens files with the permissions of nobody if the test runs as root, for whom permissions do not apply.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := unix.SetfsuidRetUid(nobody)
	require.NoError(t, err)
	defer func() {
		_, err := unix.SetfsuidRetUid(0)
		require.NoError(t, err)
	}()
	f()
}

// Without permission to read the state files the error is the same for all containers, says what to do, and hides no other runtime.
func TestWithoutPermissions(t *testing.T) {
	root := t.TempDir()
	for dir := root; dir != "/"; dir = filepath.Dir(dir) { // so that the user nobody can reach the runtimes' directories
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o011 != 0o011 && strings.HasPrefix(dir, os.TempDir()+"/") {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
	}
	write(t, dockerState(id, "web", "web:1"), root, "docker", "containers", id, "config.v2.json")
	write(t, storage(id, "train", "localhost/train:2"), root, "podman", "overlay-containers", "containers.json")
	write(t, bundle, bundleFile(filepath.Join(root, "containerd"), "ml", id))
	for name, config := range map[string]*Config{
		"docker":     {Docker: &DockerConfig{Path: filepath.Join(root, "docker")}},
		"podman":     {Podman: &PodmanConfig{Paths: []string{filepath.Join(root, "podman")}}},
		"containerd": {Containerd: &ContainerdConfig{Path: filepath.Join(root, "containerd")}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			require.NoError(t, os.Chmod(dir, 0))
			t.Cleanup(func() { assert.NoError(t, os.Chmod(dir, 0o755)) })
			asNobody(t, func() {
				got, err := find(t, config, id)
				assert.Nil(t, got)
				require.ErrorContains(t, err, "permission denied: read it as root, or name the socket as endpoint")
				assert.Contains(t, err.Error(), dir)
				assert.NotContains(t, err.Error(), id)
			})
		})
	}
	endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(dockerState(id, "web", "web:1")))
	})
	docker := filepath.Join(root, "docker")
	require.NoError(t, os.Chmod(docker, 0))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(docker, 0o755)) })
	asNobody(t, func() {
		got, err := find(t, &Config{Docker: &DockerConfig{Path: docker, Endpoint: endpoint}}, id)
		require.NoError(t, err, "the socket answers")
		assert.Equal(t, "web", got.Name)
	})
}

// A pipe in the place of a state file is not waited for.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "overlay-containers", "containers.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, unix.Mkfifo(path, 0o600))
	_, err := find(t, &Config{Podman: &PodmanConfig{Paths: []string{dir}}}, id)
	require.ErrorContains(t, err, "is not a regular file")
}
