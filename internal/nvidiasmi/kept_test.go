// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What does not change of a GPU stays known when one answer lacks it.
func TestIdentityOutlivesAnAnswerWithoutIt(t *testing.T) {
	f := h100Tool(t)
	f.identity = answer{stdout: "index, uuid, compute_cap\n0, " + h100First + ", 9.0\n1, " + h100Second + ", 9.0\n"}
	r := newReader(t, QueryFull, f, newClock())
	require.Equal(t, "9.0", deviceOf(t, read(t, r), h100Second).Info.ComputeCapability)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<minor_number>1<", "<minor_number>Not Found<", 1)
	assert.Equal(t, "nvidia1", deviceOf(t, read(t, r), h100Second).Name)
	f.identity = answer{stdout: "Unknown Error\n", exit: 255}
	f.xml.stdout = strings.Replace(f.xml.stdout, "580.95.05", "580.105.08", 1) // all is listed anew
	assert.Equal(t, "9.0", deviceOf(t, read(t, r), h100Second).Info.ComputeCapability)
}
