// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// nameLabel is the label and annotation by which nerdctl names containers. containerd itself has IDs alone.
	nameLabel = "nerdctl/name"
	// dockerNamespace has Docker's containers. containerd does not know their names and labels.
	dockerNamespace = "moby"
	maxNamespaces   = 256
)

// containerd finds containers in containerd's state directory, which has names, and by its API, which has images and labels too.
type containerd struct {
	dir string // of the namespaces
	api *containerdAPI
}

func newContainerd(config *ContainerdConfig) *containerd {
	return &containerd{dir: filepath.Join(config.Path, "io.containerd.runtime.v2.task"), api: newContainerdAPI(config.Endpoint)}
}

func (c *containerd) name() string { return "containerd" }

func (c *containerd) places() []string {
	if c.api == nil {
		return []string{c.dir}
	}
	return []string{c.dir, c.api.path()}
}

func (c *containerd) find(ctx context.Context, id string) (*Description, error) {
	namespace, found, err := c.fromBundle(id)
	if namespace == "" || c.api == nil {
		return found, err
	}
	answer, err := c.api.find(ctx, namespace, id)
	if answer == nil {
		return found, err
	}
	return answer, nil
}

// fromBundle returns the namespace of a running container, and what its OCI specification says of it; nil if that has no name.
func (c *containerd) fromBundle(id string) (string, *Description, error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return "", nil, unreadable("containerd", c.dir, err)
	}
	for _, namespace := range namespaces {
		file := filepath.Join(c.dir, namespace, id, "config.json")
		data, err := readFile(file, maxContainer)
		if err != nil {
			return "", nil, unreadable("containerd", c.dir, err)
		}
		if data == nil {
			continue
		}
		found, err := parseBundle(data)
		if err != nil {
			err = fmt.Errorf("containerd: read %s: %w", file, err)
		}
		return namespace, found, err
	}
	return "", nil, nil
}

// namespaces returns the directories of namespaces but Docker's; none if containerd is not there.
func (c *containerd) namespaces() ([]string, error) {
	dir, err := os.Open(c.dir)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(maxNamespaces)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != dockerNamespace {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// parseBundle parses an OCI runtime specification (config.json); it returns nil if that has no name that nerdctl gave.
func parseBundle(data []byte) (*Description, error) {
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, errors.New("it is not the JSON of an OCI specification")
	}
	name := spec.Annotations[nameLabel]
	if name == "" {
		return nil, nil
	}
	return &Description{Runtime: "containerd", Name: name}, nil
}
