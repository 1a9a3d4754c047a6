// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/confmap"
)

// Config selects the runtimes that are queried, in this order. A missing runtime is not queried.
type Config struct {
	Docker     *DockerConfig     `mapstructure:"docker,omitempty"`
	Podman     *PodmanConfig     `mapstructure:"podman,omitempty"`
	Containerd *ContainerdConfig `mapstructure:"containerd,omitempty"`
	// Labels are the keys of those that become resource attributes of the container, as container.label.<key>.
	Labels []string `mapstructure:"labels"`
}

// DockerConfig is the configuration of Docker's state files and API.
type DockerConfig struct {
	// Path is Docker's data-root; empty: it is not read.
	Path string `mapstructure:"path"`
	// Endpoint is the socket of Docker's API; if empty, it is not queried.
	Endpoint string `mapstructure:"endpoint"`
}

// PodmanConfig is the configuration of Podman's storage and API.
type PodmanConfig struct {
	// Paths are directories of containers-storage (graphroot), or patterns of such (filepath.Match).
	Paths []string `mapstructure:"paths"`
	// Endpoint is the socket of Podman's API; if empty, it is not queried.
	Endpoint string `mapstructure:"endpoint"`
}

// ContainerdConfig is the configuration of containerd's state files and API.
type ContainerdConfig struct {
	// Path is containerd's state directory.
	Path string `mapstructure:"path"`
	// Endpoint is containerd's socket; if empty, it is not queried.
	Endpoint string `mapstructure:"endpoint"`
}

// Unmarshal implements confmap.Unmarshaler. A key without a value selects its runtime with the defaults.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet("docker") {
		c.Docker = &DockerConfig{Path: "/var/lib/docker"}
	}
	if conf.IsSet("podman") {
		c.Podman = &PodmanConfig{}
	}
	if conf.IsSet("containerd") {
		c.Containerd = &ContainerdConfig{Path: "/run/containerd"}
	}
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	// A list in the configuration would be merged with a default that has more elements.
	if c.Podman != nil && !conf.IsSet("podman::paths") {
		c.Podman.Paths = []string{"/var/lib/containers/storage"}
	}
	return nil
}

// Validate implements confmap.Validator.
func (c *Config) Validate() error {
	var errs []error
	if c.Docker == nil && c.Podman == nil && c.Containerd == nil {
		errs = append(errs, errors.New("must contain docker, podman or containerd"))
	}
	if slices.Contains(c.Labels, "") {
		errs = append(errs, errors.New("labels: the key of a label must not be empty"))
	}
	return errors.Join(errs...)
}

// Validate implements confmap.Validator.
func (c *DockerConfig) Validate() error {
	if c.Path == "" && c.Endpoint == "" {
		return errors.New("must contain path or endpoint")
	}
	errs := []error{checkEndpoint(c.Endpoint)}
	if c.Path != "" {
		errs = append(errs, checkPath("path", c.Path))
	}
	return errors.Join(errs...)
}

// Validate implements confmap.Validator.
func (c *PodmanConfig) Validate() error {
	if len(c.Paths) == 0 && c.Endpoint == "" {
		return errors.New("must contain paths or endpoint")
	}
	errs := []error{checkEndpoint(c.Endpoint)}
	for _, path := range c.Paths {
		if _, err := filepath.Match(path, ""); err != nil {
			errs = append(errs, fmt.Errorf("paths: %q is not a pattern such as /home/*/.local/share/containers/storage", path))
		}
		errs = append(errs, checkPath("paths", path))
	}
	return errors.Join(errs...)
}

// Validate implements confmap.Validator.
func (c *ContainerdConfig) Validate() error {
	return errors.Join(checkEndpoint(c.Endpoint), checkPath("path", c.Path))
}

func checkPath(key, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s: %q is not an absolute path", key, path)
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	if path, ok := strings.CutPrefix(endpoint, "unix://"); endpoint != "" && (!ok || !strings.HasPrefix(path, "/")) {
		return fmt.Errorf("endpoint: %q is not a Unix socket such as unix:///var/run/docker.sock", endpoint)
	}
	return nil
}
