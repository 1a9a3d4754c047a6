// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const bundle = `{"ociVersion":"1.0.2","process":{"env":["TOKEN=secret"]},"annotations":{"nerdctl/name":"speech","nerdctl/namespace":"ml"}}`

func bundleFile(state, namespace, id string) string {
	return filepath.Join(state, "io.containerd.runtime.v2.task", namespace, id, "config.json")
}

func TestContainerdBundle(t *testing.T) {
	state := t.TempDir()
	write(t, bundle, bundleFile(state, "ml", id))
	write(t, `{"annotations":{}}`, bundleFile(state, "default", other))
	config := &Config{Containerd: &ContainerdConfig{Path: state}}
	got, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, &Description{Runtime: "containerd", Name: "speech"}, got)
	got, err = find(t, config, other)
	require.NoError(t, err)
	assert.Nil(t, got, "containerd itself has no names")
}

// Docker's containers are Docker's, also if Docker is not queried.
func TestContainerdOfDocker(t *testing.T) {
	state := t.TempDir()
	write(t, bundle, bundleFile(state, "moby", id))
	got, err := find(t, &Config{Containerd: &ContainerdConfig{Path: state, Endpoint: "unix:///nonexistent"}}, id)
	require.NoError(t, err)
	assert.Nil(t, got)
}

func TestContainerdGarbage(t *testing.T) {
	state := t.TempDir()
	write(t, "{", bundleFile(state, "ml", id))
	_, err := find(t, &Config{Containerd: &ContainerdConfig{Path: state}}, id)
	require.ErrorContains(t, err, "it is not the JSON of an OCI specification")
}

func bytesField(message []byte, number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(message, number, protowire.BytesType), value)
}

// getResponse is containerd's answer: a container with an ID, labels, an image, a runtime and fields that are not used.
func getResponse(id, image string, labels ...string) []byte {
	container := bytesField(nil, 1, id)
	for i := 0; i < len(labels); i += 2 {
		container = bytesField(container, 2, string(bytesField(bytesField(nil, 1, labels[i]), 2, labels[i+1])))
	}
	container = bytesField(container, 3, image)
	container = bytesField(container, 4, string(bytesField(nil, 1, "io.containerd.runc.v2")))
	container = protowire.AppendVarint(protowire.AppendTag(container, 99, protowire.VarintType), 7)
	return bytesField(nil, 1, string(container))
}

// containerdServer answers Get as containerd does, with an encoded message or an error.
func containerdServer(t *testing.T, get func(namespace, id string) ([]byte, error)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "containerd.services.containers.v1.Containers", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Get", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var request []byte
			if err := decode(&request); err != nil {
				return nil, err
			}
			var id string
			err := eachField(request, 1, func(b []byte) error { id = string(b); return nil })
			if err != nil {
				return nil, err
			}
			incoming, _ := metadata.FromIncomingContext(ctx)
			answer, err := get(incoming.Get("containerd-namespace")[0], id)
			return &answer, err
		}}},
	}, struct{}{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return "unix://" + filepath.Join(dir, "s")
}

func TestContainerdSocket(t *testing.T) {
	state := t.TempDir()
	write(t, `{}`, bundleFile(state, "ml", id))
	write(t, bundle, bundleFile(state, "ml", other))
	endpoint := containerdServer(t, func(namespace, container string) ([]byte, error) {
		assert.Equal(t, "ml", namespace)
		if container != id {
			return nil, status.Error(codes.NotFound, "container not found")
		}
		return getResponse(id, "docker.io/library/speech:3", "nerdctl/name", "speech", "team", "audio", "other", "x"), nil
	})
	config := &Config{Containerd: &ContainerdConfig{Path: state, Endpoint: endpoint}, Labels: []string{"team"}}
	got, err := find(t, config, id)
	require.NoError(t, err)
	assert.Equal(t, &Description{
		Runtime: "containerd", Name: "speech", ImageName: "docker.io/library/speech", ImageTags: []string{"3"},
		Labels: map[string]string{"container.label.team": "audio"},
	}, got)
	got, err = find(t, config, other)
	require.NoError(t, err)
	assert.Equal(t, &Description{Runtime: "containerd", Name: "speech"}, got, "what the bundle says")
}

func TestContainerdSocketFails(t *testing.T) {
	state := t.TempDir()
	write(t, `{}`, bundleFile(state, "ml", id))
	for name, tt := range map[string]struct{ endpoint, want string }{
		"none":      {"unix:///nonexistent/containerd.sock", "no such file or directory"},
		"error":     {containerdServer(t, func(string, string) ([]byte, error) { return nil, status.Error(codes.Internal, "broken") }), "broken"},
		"garbage":   {containerdServer(t, func(string, string) ([]byte, error) { return []byte{0x0a, 0xff}, nil }), "not a message of containerd's API"},
		"too large": {containerdServer(t, func(string, string) ([]byte, error) { return make([]byte, maxContainer+1), nil }), "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := find(t, &Config{Containerd: &ContainerdConfig{Path: state, Endpoint: tt.endpoint}}, id)
			assert.Nil(t, got)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func FuzzParseBundle(f *testing.F) {
	f.Add([]byte(bundle))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := parseBundle(data); got != nil {
			require.NoError(t, err)
			assert.NotEmpty(t, got.Name)
		}
	})
}

func FuzzParseGetResponse(f *testing.F) {
	f.Add(getResponse(id, "a/b:1", "nerdctl/name", "n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseGetResponse(data)
		assert.Equal(t, got == nil, err != nil)
		if got != nil {
			assert.Equal(t, got.Labels[nameLabel], got.Name)
		}
	})
}
