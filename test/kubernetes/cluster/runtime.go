// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Import puts an image into the node's container runtime.
func (l Layout) Import(ctx context.Context, image *Image) error {
	file, err := os.CreateTemp(l.Run(), "image-*.tar")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	err = image.Write(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return l.ImportArchive(ctx, file.Name())
}

// ImportArchive puts an image into the node's container runtime from an archive, under the name that it has there.
func (l Layout) ImportArchive(ctx context.Context, archive string) error {
	if output, err := l.Containerd(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("import the image of %s: %w: %s", archive, err, output)
	}
	return nil
}

// Containerd runs ctr(8) in the namespace of the kubelet's containers.
func (l Layout) Containerd(ctx context.Context, args ...string) ([]byte, error) {
	all := append([]string{"--address", l.ContainerdSocket(), "--namespace", "k8s.io"}, args...)
	return exec.CommandContext(ctx, l.Bin("ctr"), all...).CombinedOutput()
}
