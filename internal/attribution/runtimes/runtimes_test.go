// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	id    = strings.Repeat("0a", 32)
	other = strings.Repeat("1b", 32)
)

func write(t testing.TB, content string, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func find(t *testing.T, config *Config, id string) (*Description, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return New(config).Find(ctx, id)
}

// A machine without Docker is not a problem, although the configuration names it.
func TestNoRuntime(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	got, err := find(t, &Config{
		Docker: &DockerConfig{Path: none}, Podman: &PodmanConfig{Paths: []string{none}}, Containerd: &ContainerdConfig{Path: none},
	}, id)
	require.NoError(t, err)
	assert.Nil(t, got)
}

// An ID that could be another path is not looked up.
func TestForeignID(t *testing.T) {
	dir := t.TempDir()
	write(t, dockerState("../x", "web", "web"), dir, "x", "config.v2.json")
	for _, id := range []string{"", "../x", "x/y", ".", "A"} {
		got, err := find(t, &Config{Docker: &DockerConfig{Path: dir}}, id)
		require.NoError(t, err)
		assert.Nil(t, got, id)
	}
}

func TestImage(t *testing.T) {
	for reference, want := range map[string]Description{
		"nginx":                                {ImageName: "nginx"},
		"nginx:1.27":                           {ImageName: "nginx", ImageTags: []string{"1.27"}},
		"registry.example:5000/nginx":          {ImageName: "registry.example:5000/nginx"},
		"registry.example:5000/a/nginx:1":      {ImageName: "registry.example:5000/a/nginx", ImageTags: []string{"1"}},
		"docker.io/library/nginx:1@sha256:abc": {ImageName: "docker.io/library/nginx", ImageTags: []string{"1"}},
		"docker.io/library/nginx@sha256:abc":   {ImageName: "docker.io/library/nginx"},
		"sha256:abc":                           {},
		"nginx:":                               {ImageName: "nginx"},
		"":                                     {},
	} {
		var got Description
		got.setImage(reference)
		assert.Equal(t, want, got, reference)
	}
}

// What is sent is valid UTF-8 of bounded length.
func TestBounds(t *testing.T) {
	d := New(&Config{Labels: []string{"l"}}).bounded(&Description{
		Name: "\xff" + strings.Repeat("ü", maxName), ImageName: strings.Repeat("i", 2*maxName), ImageTags: []string{strings.Repeat("t", 2*maxName)},
		Labels: map[string]string{"l": strings.Repeat("v", 2*maxValue)},
	})
	assert.Equal(t, "\uFFFD"+strings.Repeat("ü", (maxName-3)/2), d.Name)
	assert.Len(t, d.ImageName, maxName)
	assert.Len(t, d.ImageTags[0], maxName)
	assert.Len(t, d.Labels["container.label.l"], maxValue)
}
