// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package runtimes asks Docker, Podman and containerd what they know of a container: its name, its image and labels. It reads their state
// files, and their sockets only if the configuration names them, because access to these is equal to root.
package runtimes

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Description is what a runtime knows of a container. What is not known is empty.
type Description struct {
	Runtime   string   // container.runtime.name
	Name      string   // container.name
	ImageName string   // container.image.name, without tag and digest
	ImageTags []string // container.image.tags: the one by which the container was started
	Labels    map[string]string
}

// containerRuntime finds a container by its full ID. It returns nil without an error if the runtime does not know the container, or is not there.
type containerRuntime interface {
	find(ctx context.Context, id string) (*Description, error)
	// name is container.runtime.name.
	name() string
	// places are the files and sockets by which containers are found.
	places() []string
}

// Runtimes are the configured runtimes. It is safe for concurrent use.
type Runtimes struct {
	runtimes []containerRuntime
	labels   []string
}

// New returns the runtimes of a valid configuration. It reads nothing yet.
func New(config *Config) *Runtimes {
	r := &Runtimes{labels: slices.Clone(config.Labels)}
	if c := config.Docker; c != nil {
		r.runtimes = append(r.runtimes, newDocker(c))
	}
	if c := config.Podman; c != nil {
		r.runtimes = append(r.runtimes, newPodman(c, len(config.Labels) > 0))
	}
	if c := config.Containerd; c != nil {
		r.runtimes = append(r.runtimes, newContainerd(c))
	}
	return r
}

// Find returns the description of the first runtime that knows a container; nil if no runtime knows it. Labels has only the configured
// ones, as container.label.<key>. The error says which runtimes could not be queried, if none of the others knows the container.
func (r *Runtimes) Find(ctx context.Context, id string) (*Description, error) {
	if !isID(id) {
		return nil, nil
	}
	var errs []error
	for _, runtime := range r.runtimes {
		found, err := runtime.find(ctx, id)
		if err != nil {
			errs = append(errs, err)
		}
		if found != nil {
			return r.bounded(found), nil
		}
	}
	return nil, errors.Join(errs...)
}

// isID reports whether an ID can be a part of a path: hexadecimal digits, or an ID of ECS on Fargate with a dash and a number.
func isID(id string) bool { return id != "" && strings.Trim(id, "0123456789abcdef-") == "" }

const (
	maxName  = 1024 // bytes of a name
	maxValue = 4096 // bytes of a label's value
)

// bounded returns a description that can be sent: in valid UTF-8 and of bounded length, with the configured labels.
func (r *Runtimes) bounded(d *Description) *Description {
	b := &Description{Runtime: d.Runtime, Name: gpu.BoundedText(d.Name, maxName), ImageName: gpu.BoundedText(d.ImageName, maxName)}
	for _, tag := range d.ImageTags {
		b.ImageTags = append(b.ImageTags, gpu.BoundedText(tag, maxName))
	}
	for _, key := range r.labels {
		if value, ok := d.Labels[key]; ok {
			if b.Labels == nil {
				b.Labels = make(map[string]string)
			}
			b.Labels["container.label."+key] = gpu.BoundedText(value, maxValue)
		}
	}
	return b
}

// setImage sets the image from a reference: [registry[:port]/]path[:tag][@digest]. The ID of an image is not a name.
func (d *Description) setImage(reference string) {
	name, _, _ := strings.Cut(reference, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		if name[:i] == "sha256" {
			return
		}
		if tag := name[i+1:]; tag != "" {
			d.ImageTags = []string{tag}
		}
		name = name[:i]
	}
	d.ImageName = name
}
