// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"sigs.k8s.io/yaml"
)

func load(t *testing.T, document string) (*Config, error) {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(document), &values))
	var c Config
	if err := confmap.NewFromStringMap(values).Unmarshal(&c); err != nil {
		return nil, err
	}
	return &c, confmap.Validate(&c)
}

// No socket is queried unless the configuration names it.
func TestConfig(t *testing.T) {
	for input, want := range map[string]Config{
		"docker:\npodman:\ncontainerd:": {
			Docker: &DockerConfig{Path: "/var/lib/docker"}, Podman: &PodmanConfig{Paths: []string{"/var/lib/containers/storage"}},
			Containerd: &ContainerdConfig{Path: "/run/containerd"},
		},
		"docker: {path: '', endpoint: 'unix:///d.sock'}\nlabels: [team]": {
			Docker: &DockerConfig{Endpoint: "unix:///d.sock"}, Labels: []string{"team"},
		},
		"podman: {paths: [/a, '/home/*/b']}":                 {Podman: &PodmanConfig{Paths: []string{"/a", "/home/*/b"}}},
		"podman: {paths: [], endpoint: 'unix:///p.sock'}":    {Podman: &PodmanConfig{Paths: []string{}, Endpoint: "unix:///p.sock"}},
		"containerd: {path: /s, endpoint: 'unix:///c.sock'}": {Containerd: &ContainerdConfig{Path: "/s", Endpoint: "unix:///c.sock"}},
	} {
		t.Run(input, func(t *testing.T) {
			got, err := load(t, input)
			require.NoError(t, err)
			assert.Equal(t, &want, got)
		})
	}
}

func TestConfigRefused(t *testing.T) {
	for input, want := range map[string]string{
		"{}":                               "must contain docker, podman or containerd",
		"labels: [a]":                      "must contain docker, podman or containerd",
		"docker:\nlabels: ['']":            "labels: the key of a label must not be empty",
		"docker: {path: ''}":               "docker: must contain path or endpoint",
		"docker: {path: lib/docker}":       `path: "lib/docker" is not an absolute path`,
		"docker: {endpoint: /d.sock}":      `endpoint: "/d.sock" is not a Unix socket`,
		"docker: {endpoint: 'tcp://d:1'}":  `endpoint: "tcp://d:1" is not a Unix socket`,
		"docker: {endpoint: 'unix://d'}":   `endpoint: "unix://d" is not a Unix socket`,
		"podman: {paths: []}":              "podman: must contain paths or endpoint",
		"podman: {paths: [a]}":             `paths: "a" is not an absolute path`,
		"podman: {paths: ['/[']}":          `paths: "/[" is not a pattern`,
		"containerd: {path: ''}":           `path: "" is not an absolute path`,
		"containerd: {endpoint: c.sock}":   "is not a Unix socket",
		"crio:":                            "invalid keys: crio",
		"docker: {socket: unix:///d.sock}": "invalid keys: socket",
	} {
		t.Run(input, func(t *testing.T) {
			_, err := load(t, input)
			require.ErrorContains(t, err, want)
		})
	}
}
