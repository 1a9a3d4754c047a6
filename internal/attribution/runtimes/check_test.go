// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write(t, storage(id, "train", "localhost/train:2"), dir, "overlay-containers", "containers.json")
	checks := New(&Config{
		Docker:     &DockerConfig{Path: filepath.Join(dir, "none"), Endpoint: "unix:///nonexistent/docker.sock"},
		Podman:     &PodmanConfig{Paths: []string{dir}},
		Containerd: &ContainerdConfig{Path: filepath.Join(dir, "none")},
	}).Check(context.Background())
	require.Len(t, checks, 3)
	assert.Equal(t, "docker", checks[0].Runtime)
	assert.Empty(t, checks[0].Places)
	require.ErrorContains(t, checks[0].Err, "docker: ask /nonexistent/docker.sock")
	assert.Equal(t, Check{Runtime: "podman", Places: []string{dir}}, checks[1])
	assert.Equal(t, Check{Runtime: "containerd"}, checks[2])
}
