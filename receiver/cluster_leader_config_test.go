// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeaderElectionIsChecked(t *testing.T) {
	for _, c := range []struct {
		election any
		want     string
	}{
		{nil, "leader_election::lease_namespace: must be set"}, // a section without a value is on
		{map[string]any{}, "leader_election::lease_namespace: must be set"},
		{map[string]any{"lease_namespace": "x/y"}, `leader_election::lease_namespace: "x/y" is not the name`},
		{map[string]any{"lease_namespace": "x", "lease_name": "A b"}, `leader_election::lease_name: "A b" is not the name of a Lease`},
	} {
		_, err := loadMap(map[string]any{"scrapers": map[string]any{"kubernetes_cluster": map[string]any{"leader_election": c.election}}})
		require.ErrorContains(t, err, "scrapers::kubernetes_cluster::"+c.want)
	}
}
