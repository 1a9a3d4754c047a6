// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

func TestForeignClusterIsRefused(t *testing.T) {
	t.Setenv(cluster.EnvRun, "/cache/run0")
	f, err := startControlPlane(t.Context())
	assert.Nil(t, f)
	assert.ErrorContains(t, err, "E2E_RUN names the running cluster /cache/run0")
}
