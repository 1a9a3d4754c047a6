// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// Without a collector, top reads the GPUs of this machine itself.
func TestTopWithoutCollector(t *testing.T) {
	if connection, err := net.Dial("tcp", strings.TrimPrefix(client.DefaultServer, "http://")); err == nil {
		_ = connection.Close()
		t.Skip("a collector runs on this machine")
	}
	nvmlsim.Use(t, "gpus = 3\n[gpu *]\nboard = h200\n")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "top")
	cmd.Env = append(os.Environ(), asOtelgpu+"=1", envServer+"=", "LD_LIBRARY_PATH="+filepath.Dir(simulatedLibrary(t)))
	got := finish(t, cmd)
	assert.Zero(t, got.code, got.err)
	assert.Contains(t, got.out, "No collector answers at "+client.DefaultServer)
	assert.Contains(t, got.out, "3 GPUs: 3 ok")
	assert.Contains(t, got.out, "nvidia2")
}
