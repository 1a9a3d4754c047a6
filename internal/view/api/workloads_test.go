// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func TestWorkloads(t *testing.T) {
	l := decode[view.List[*view.Workload]](t, get(t, "/api/v1/gpu/workloads?sort=-idle"))
	require.Len(t, l.Items, 2)
	assert.Equal(t, "train", l.Items[0].Name)
	assert.Equal(t, 1, *l.Items[0].Idle)
	assert.Nil(t, l.Items[1].Held)
	assert.Equal(t, 1, decode[view.List[*view.Workload]](t, get(t, "/api/v1/gpu/workloads?pod=train-0")).Total)
	assert.Equal(t, 404, get(t, "/api/v1/gpu/workloads?cluster=no").Code)
}

func TestTeams(t *testing.T) {
	l := decode[view.List[*view.Team]](t, get(t, "/api/v1/gpu/teams"))
	require.Len(t, l.Items, 2)
	assert.Equal(t, "ml", *l.Items[0].Name, "the team with most idle time is first")
	assert.InDelta(t, 1800, *l.Items[0].IdleTime, 0)
	assert.Equal(t, 1, decode[view.List[*view.Team]](t, get(t, "/api/v1/gpu/teams?cluster=prod")).Total)
	assert.Equal(t, 400, get(t, "/api/v1/gpu/teams?by=label").Code)
	assert.Equal(t, 400, get(t, "/api/v1/gpu/teams?label=team").Code)
	assert.Equal(t, []string{"GPU-n1-0", "GPU-n1-1"}, gpus(t, "?workload=train&workload_kind=StatefulSet&cluster=prod"))
}
