// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// maxContainer bounds what is read of one container, in bytes: its state file, or an answer about it.
const maxContainer = 4 << 20

// docker finds containers in Docker's state files, else by its API.
type docker struct {
	dir    string // of the containers; empty: not read
	engine *engine
}

func newDocker(config *DockerConfig) *docker {
	d := &docker{engine: newEngine("docker", config.Endpoint)}
	if config.Path != "" {
		d.dir = filepath.Join(config.Path, "containers")
	}
	return d
}

func (d *docker) name() string { return "docker" }

func (d *docker) places() []string {
	places := d.engine.places()
	if d.dir != "" {
		places = append(places, d.dir)
	}
	return places
}

func (d *docker) find(ctx context.Context, id string) (*Description, error) {
	found, err := d.fromFile(id)
	if found != nil || d.engine == nil {
		return found, err
	}
	answer, err2 := d.engine.find(ctx, id)
	if err2 != nil {
		return nil, errors.Join(err, err2)
	}
	return answer, nil // also if the state files could not be read: Docker itself has answered
}

func (d *docker) fromFile(id string) (*Description, error) {
	if d.dir == "" {
		return nil, nil
	}
	file := filepath.Join(d.dir, id, "config.v2.json")
	data, err := readFile(file, maxContainer)
	if err != nil {
		return nil, unreadable("docker", d.dir, err)
	}
	if data == nil {
		return nil, nil
	}
	found, err := parseContainer(data, id)
	if err != nil {
		return nil, fmt.Errorf("docker: read %s: %w", file, err)
	}
	found.Runtime = "docker"
	return found, nil
}

// parseContainer parses a container in Docker's config.v2.json, or in the answer of Docker's or Podman's API to /containers/<id>/json,
// which have the same fields. Nothing else is decoded: the environment beside them has secrets.
func parseContainer(data []byte, id string) (*Description, error) {
	var container struct {
		ID     string
		Name   string
		Config struct {
			Image  string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal(data, &container); err != nil {
		return nil, errors.New("it is not the JSON of a container") // the error may quote a part of it
	}
	if container.ID != id {
		return nil, fmt.Errorf("it describes another container, or no container: %.80q", container.ID)
	}
	found := &Description{Name: strings.TrimPrefix(container.Name, "/"), Labels: container.Config.Labels}
	found.setImage(container.Config.Image)
	return found, nil
}
