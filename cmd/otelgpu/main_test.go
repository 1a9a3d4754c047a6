// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/leaktest"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// asOtelgpu makes this program act as otelgpu.
const asOtelgpu = "OTELGPU_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asOtelgpu) != "" {
		os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	time.Local = time.UTC // tables have times of this machine
	leaktest.VerifyTestMain(m)
}

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// otelgpu runs one command. One that asks a server waits long for an answer, unless its arguments say otherwise.
func otelgpu(t *testing.T, args ...string) result {
	t.Helper()
	if len(args) > 0 && slices.Contains([]string{"get", "run", "top"}, args[0]) {
		args = slices.Insert(slices.Clone(args), 1, "--timeout=5m")
	}
	out, err := os.CreateTemp(t.TempDir(), "out")
	require.NoError(t, err)
	defer out.Close()
	nothing, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer nothing.Close()
	var errs strings.Builder
	code := execute(args, nothing, out, &errs)
	_, err = out.Seek(0, io.SeekStart)
	require.NoError(t, err)
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	return result{code: code, out: string(text), err: errs.String()}
}

// sampleServer serves the API of the sample fleet.
func sampleServer(t *testing.T) string { return serverOf(t, viewtest.Snapshot()) }

// emptyServer serves the API of one node without GPUs.
func emptyServer(t *testing.T) string { return serverOf(t, emptyFleet()) }

func emptyFleet() *view.Snapshot {
	s := viewtest.Snapshot()
	s.Clusters, s.Nodes = nil, slices.DeleteFunc(s.Nodes, func(n *view.Node) bool { return n.Name != "empty" })
	return s
}

func serverOf(t *testing.T, s *view.Snapshot) string {
	t.Helper()
	handler := api.New(viewtest.NewReader(s), api.Settings{})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Close)
	return server.URL
}
