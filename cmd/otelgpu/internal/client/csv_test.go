// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInvalidCSV(t *testing.T) {
	for body, kind := range map[string]string{`{"items":[]}`: "application/json", "a\n\"b": "text/csv", "": "text/csv", "a,b\n1\n": "text/csv"} {
		_, _, err := serve(t, send(200, kind, body)).CSV(t.Context(), Nodes, nil, 0)
		require.ErrorContains(t, err, "check that --server", body)
	}
}
