// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

var fromDocker = &Description{
	Runtime: "docker", Name: "web", ImageName: "registry.example:5000/team/web", ImageTags: []string{"1.2"},
	Labels: map[string]string{"container.label.team": "vision"},
}

func TestDockerStateFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dockerState(id, "web", "registry.example:5000/team/web:1.2"), dir, "containers", id, "config.v2.json")
	config := &Config{Docker: &DockerConfig{Path: dir}, Labels: []string{"team", "absent"}}
	got, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, fromDocker, got)

	got, err = find(t, config, other)
	require.NoError(t, err)
	assert.Nil(t, got)
}

// The socket is queried if the state file does not have the container, and only for the container.
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
			got, err := find(t, config, id)
			require.NoError(t, err)
			assert.Equal(t, fromDocker, got)
			got, err = find(t, config, other)
			require.NoError(t, err)
			assert.Nil(t, got)
		})
	}
}

func TestStateFileIsNotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"garbage":           {func(t *testing.T, path string) { write(t, "{", path) }, "it is not the JSON"},
		"empty":             {func(t *testing.T, path string) { write(t, "", path) }, "it is not the JSON"},
		"too large":         {func(t *testing.T, path string) { write(t, strings.Repeat(" ", maxContainer+1), path) }, "is larger than 4194304 bytes"},
		"directory":         {func(t *testing.T, path string) { require.NoError(t, os.MkdirAll(path, 0o755)) }, "is not a regular file"},
		"another container": {func(t *testing.T, path string) { write(t, dockerState(other, "a", "b"), path) }, "it describes another container"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(t, filepath.Join(dir, "containers", id, "config.v2.json"))
			got, err := find(t, &Config{Docker: &DockerConfig{Path: dir}}, id)
			assert.Nil(t, got)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func FuzzParseContainer(f *testing.F) {
	f.Add([]byte(dockerState(id, "web", "web:1")))
	f.Add([]byte(`{"id":"` + id + `","Config":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseContainer(data, id)
		assert.Equal(t, got == nil, err != nil)
		if got != nil {
			assert.NotContains(t, got.ImageName, "@")
		}
	})
}
