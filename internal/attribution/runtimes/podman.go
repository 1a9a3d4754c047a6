// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

const (
	maxStorage  = 16 << 20 // bytes of the list of a storage's containers
	maxStorages = 1024     // that match a pattern
)

// podman finds containers in the lists of containers-storage, which have names and images, and by Podman's API, which has labels too.
// Podman's own database has these as well, but its form is Podman's own, and it may be locked.
type podman struct {
	paths      []string
	wantLabels bool
	engine     *engine
}

func newPodman(config *PodmanConfig, wantLabels bool) *podman {
	return &podman{paths: config.Paths, wantLabels: wantLabels, engine: newEngine("podman", config.Endpoint)}
}

func (p *podman) name() string { return "podman" }

func (p *podman) places() []string { return append(p.engine.places(), p.storages()...) }

func (p *podman) find(ctx context.Context, id string) (*Description, error) {
	found, err := p.fromStorage(ctx, id)
	if p.engine == nil || (found != nil && !p.wantLabels) {
		return found, err
	}
	answer, err := p.engine.find(ctx, id)
	if answer == nil { // of another user, whose containers this socket does not have, or the socket is not there
		return found, err
	}
	return answer, nil
}

// fromStorage looks into all storages in their order. Users may write to their own, so the system's are to be named first.
func (p *podman) fromStorage(ctx context.Context, id string) (*Description, error) {
	var errs []error
	for _, path := range p.storages() {
		for _, file := range storageFiles() {
			if err := ctx.Err(); err != nil {
				return nil, errors.Join(append(errs, fmt.Errorf("podman: read below %s: %w", path, err))...)
			}
			file := filepath.Join(path, file)
			data, err := readFile(file, maxStorage)
			if err != nil {
				errs = append(errs, unreadable("podman", path, err))
				continue
			}
			if data == nil {
				continue
			}
			found, err := parseStorage(data, id)
			if err != nil {
				errs = append(errs, fmt.Errorf("podman: read %s: %w", file, err))
			}
			if found != nil {
				return found, nil
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	errs = slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() })
	return nil, errors.Join(errs...)
}

func (p *podman) storages() []string {
	var all []string
	for _, path := range p.paths {
		found, err := filepath.Glob(path)
		if err != nil || len(found) == 0 {
			found = []string{path} // so that a missing permission is reported
		}
		all = append(all, found[:min(len(found), maxStorages)]...)
	}
	return all[:min(len(all), maxStorages)]
}

// storageFiles returns the lists of a storage: of the containers, and of those that podman run --rm started. The driver is nearly always
// overlay.
func storageFiles() []string {
	var files []string
	for _, driver := range [...]string{"overlay", "vfs", "btrfs", "zfs"} {
		files = append(files, driver+"-containers/containers.json", driver+"-containers/volatile-containers.json")
	}
	return files
}

// parseStorage returns a container in the list of a containers-storage; nil if the list does not have it. The metadata of a container are a
// text with the JSON of who made it: Podman and CRI-O write image-name and name.
func parseStorage(data []byte, id string) (*Description, error) {
	var list []struct {
		ID       string   `json:"id"`
		Names    []string `json:"names"`
		Metadata string   `json:"metadata"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, errors.New("it is not a JSON list of containers")
	}
	for i := range list {
		container := &list[i]
		if container.ID != id {
			continue
		}
		var metadata struct {
			ImageName string `json:"image-name"`
			Name      string `json:"name"`
		}
		_ = json.Unmarshal([]byte(container.Metadata), &metadata) // who else uses the storage writes what they like
		found := &Description{Runtime: "podman", Name: metadata.Name}
		if len(container.Names) > 0 {
			found.Name = container.Names[0]
		}
		found.setImage(metadata.ImageName)
		return found, nil
	}
	return nil, nil
}
