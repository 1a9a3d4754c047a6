// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/kubeexec"
)

// A thousand nodes that cannot be read are not a thousand lines.
func TestManyUnreadNodes(t *testing.T) {
	var result kubeexec.Examined
	for range 1000 {
		result.Unread = append(result.Unread, errors.New("no pod on it"))
	}
	var s Section
	s.addExamined(&result)
	assert.Len(t, s.Checks, maxNamed+1)
	assert.Equal(t, Check{State: Failed, Subject: "nodes", Found: "980 more cannot be read"}, s.Checks[maxNamed])
}
