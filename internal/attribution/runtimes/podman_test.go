// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// storage is the list of a containers-storage with one container that Podman started.
func storage(id, name, image string) string {
	metadata, err := json.Marshal(map[string]any{"image-name": image, "image-id": other, "name": name, "created-at": 1})
	if err != nil {
		panic(err)
	}
	list, err := json.Marshal([]map[string]any{
		{"id": other, "names": []string{"other"}, "metadata": "{"},
		{"id": id, "names": []string{name}, "image": other, "metadata": string(metadata), "flags": map[string]string{"ProcessLabel": ""}},
	})
	if err != nil {
		panic(err)
	}
	return string(list)
}

func podmanOf(name string) *Description {
	return &Description{Runtime: "podman", Name: name, ImageName: "localhost/train", ImageTags: []string{"2"}}
}

// Both lists of a storage are read, of each driver, and the storages of users by a pattern.
func TestPodmanStorage(t *testing.T) {
	for _, file := range []string{"overlay-containers/containers.json", "overlay-containers/volatile-containers.json", "vfs-containers/containers.json"} {
		for _, user := range []string{"ada", "bob"} {
			t.Run(user+" "+file, func(t *testing.T) {
				home := t.TempDir()
				write(t, "[]", home, "ada", "storage", "overlay-containers/containers.json")
				write(t, storage(id, "train", "localhost/train:2"), home, user, "storage", file)
				config := &Config{Podman: &PodmanConfig{Paths: []string{filepath.Join(home, "*", "storage")}}, Labels: []string{"team"}}
				got, err := find(t, config, id)
				require.NoError(t, err)
				assert.Equal(t, podmanOf("train"), got)
				got, err = find(t, config, strings.Repeat("2c", 32))
				require.NoError(t, err)
				assert.Nil(t, got)
			})
		}
	}
}

// Users may write to their storages: what they write about a container of the system does not count.
func TestPodmanSystemFirst(t *testing.T) {
	dir := t.TempDir()
	write(t, storage(id, "true", "localhost/train:2"), dir, "system", "overlay-containers/containers.json")
	write(t, storage(id, "false", "localhost/train:2"), dir, "home", "overlay-containers/containers.json")
	got, err := find(t, &Config{Podman: &PodmanConfig{Paths: []string{filepath.Join(dir, "system"), filepath.Join(dir, "home")}}}, id)
	require.NoError(t, err)
	assert.Equal(t, podmanOf("true"), got)
}

// One storage with garbage does not hide the others, and is reported if no other has the container.
func TestPodmanGarbage(t *testing.T) {
	dir := t.TempDir()
	write(t, "{", dir, "a", "overlay-containers/containers.json")
	write(t, storage(id, "train", "localhost/train:2"), dir, "b", "overlay-containers/containers.json")
	config := &Config{Podman: &PodmanConfig{Paths: []string{filepath.Join(dir, "*")}}}
	got, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, podmanOf("train"), got)
	_, err = find(t, config, strings.Repeat("2c", 32))
	require.ErrorContains(t, err, "it is not a JSON list of containers")
}

// The socket is queried only for labels, which the storage does not have. If it does not answer, the storage counts.
func TestPodmanSocket(t *testing.T) {
	dir := t.TempDir()
	write(t, storage(id, "train", "localhost/train:2"), dir, "overlay-containers/containers.json")
	requests, status := 0, http.StatusOK
	endpoint := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.WriteHeader(status)
		_, _ = w.Write([]byte(dockerState(id, "train", "localhost/train:2")))
	})
	config := &Config{Podman: &PodmanConfig{Paths: []string{dir}, Endpoint: endpoint}}
	got, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, podmanOf("train"), got)
	assert.Zero(t, requests)

	config.Labels = []string{"team"}
	got, err = find(t, config, id)
	require.NoError(t, err)
	want := podmanOf("train")
	want.Labels = map[string]string{"container.label.team": "vision"}
	assert.Equal(t, want, got)
	assert.Equal(t, 1, requests)

	status = http.StatusNotFound
	got, err = find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, podmanOf("train"), got)
}

func FuzzParseStorage(f *testing.F) {
	f.Add([]byte(storage(id, "train", "localhost/train:2")))
	f.Add([]byte(`[{"id":"` + id + `","names":null,"metadata":"null"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseStorage(data, id); got != nil {
			require.NoError(t, err)
			assert.Contains(t, string(data), id[:2])
		}
	})
}
