// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
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

// dockerState is a container as Docker's state file and its API have it, with what must never be sent.
func dockerState(id, name, image string) string {
	data, err := json.Marshal(map[string]any{
		"ID": id, "Name": "/" + name, "Driver": "overlay2", "State": map[string]any{"Running": true, "Pid": 4242},
		"Config": map[string]any{
			"Image": image, "Env": []string{"TOKEN=secret"}, "Cmd": []string{"serve"},
			"Labels": map[string]string{"team": "vision", "other": "x"},
		},
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func find(t *testing.T, config *Config, id string) (*Description, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return New(config).Find(ctx, id)
}

// serve answers requests on a Unix socket, and returns its endpoint.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "unix://" + path
}

var fromDocker = &Description{
	Runtime: "docker", Name: "web", ImageName: "registry.example:5000/team/web", ImageTags: []string{"1.2"},
	Labels: map[string]string{"container.label.team": "vision"},
}

func TestDockerStateFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dockerState(id, "web", "registry.example:5000/team/web:1.2"), dir, "containers", id, "config.v2.json")
	config := &Config{Docker: &DockerConfig{Path: dir}, Labels: []string{"team", "absent"}}
	found, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, fromDocker, found)

	found, err = find(t, config, other)
	require.NoError(t, err)
	assert.Nil(t, found)
}

// A machine without Docker is no problem, although the configuration names it.
func TestNoRuntime(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	found, err := find(t, &Config{
		Docker: &DockerConfig{Path: none}, Podman: &PodmanConfig{Paths: []string{none}}, Containerd: &ContainerdConfig{Path: none},
	}, id)
	require.NoError(t, err)
	assert.Nil(t, found)
}

// The socket is asked where the state file does not have the container, and for nothing but the container.
func TestDockerSocket(t *testing.T) {
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, http.MethodGet, r.Method)
		if r.URL.Path != "/containers/"+id+"/json" {
			http.Error(w, `{"message":"No such container"}`, http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(dockerState(id, "web", "registry.example:5000/team/web:1.2")))
	})
	for name, dir := range map[string]string{"no state files": "", "not in the state files": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			config := &Config{Docker: &DockerConfig{Path: dir, Endpoint: endpoint}, Labels: []string{"team"}}
			found, err := find(t, config, id)
			require.NoError(t, err)
			assert.Equal(t, fromDocker, found)
			found, err = find(t, config, other)
			require.NoError(t, err)
			assert.Nil(t, found)
		})
	}
}

func TestSocketFails(t *testing.T) {
	status := func(code int, body string) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = w.Write([]byte(body)) })
	}
	for name, tt := range map[string]struct{ endpoint, want string }{
		"none":              {"unix:///nonexistent/docker.sock", "no such file or directory"},
		"error":             {status(http.StatusInternalServerError, ""), "it answers 500 Internal Server Error"},
		"redirect":          {status(http.StatusFound, ""), "it answers 302 Found"},
		"garbage":           {status(http.StatusOK, "<html>TOKEN"), "it is not the JSON of a container"},
		"another container": {status(http.StatusOK, dockerState(other, "web", "web")), "it describes another container"},
		"endless":           {status(http.StatusOK, strings.Repeat(" ", maxContainer+1)), "more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := find(t, &Config{Docker: &DockerConfig{Endpoint: tt.endpoint}}, id)
			assert.Nil(t, found)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "TOKEN")
			assert.NotContains(t, err.Error(), id, "the error is one for all containers")
		})
	}
}

// A socket that does not answer is waited for no longer than the caller waits.
func TestSocketHangs(t *testing.T) {
	asked := make(chan struct{})
	end := make(chan struct{})
	endpoint := serve(t, func(http.ResponseWriter, *http.Request) { close(asked); <-end })
	t.Cleanup(func() { close(end) })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-asked; cancel() }()
	_, err := New(&Config{Docker: &DockerConfig{Endpoint: endpoint}}).Find(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
}

func TestStateFileIsNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"garbage":           {func(t *testing.T, path string) { write(t, "{", path) }, "it is not the JSON"},
		"empty":             {func(t *testing.T, path string) { write(t, "", path) }, "it is not the JSON"},
		"too large":         {func(t *testing.T, path string) { write(t, strings.Repeat(" ", maxContainer+1), path) }, "more than 4194304 bytes"},
		"directory":         {func(t *testing.T, path string) { require.NoError(t, os.MkdirAll(path, 0o755)) }, "is not a regular file"},
		"another container": {func(t *testing.T, path string) { write(t, dockerState(other, "a", "b"), path) }, "it describes another container"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, filepath.Join(dir, "containers", id, "config.v2.json"))
			found, err := find(t, &Config{Docker: &DockerConfig{Path: dir}}, id)
			assert.Nil(t, found)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// An ID that could be another path is not looked up.
func TestForeignID(t *testing.T) {
	dir := t.TempDir()
	write(t, dockerState("../x", "web", "web"), dir, "x", "config.v2.json")
	for _, id := range []string{"", "../x", "x/y", ".", "A"} {
		found, err := find(t, &Config{Docker: &DockerConfig{Path: dir}}, id)
		require.NoError(t, err)
		assert.Nil(t, found, id)
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

func FuzzParseContainer(f *testing.F) {
	f.Add([]byte(dockerState(id, "web", "web:1")))
	f.Add([]byte(`{"id":"` + id + `","Config":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := parseContainer(data, id)
		assert.Equal(t, found == nil, err != nil)
		if found != nil {
			assert.NotContains(t, found.ImageName, "@")
		}
	})
}
