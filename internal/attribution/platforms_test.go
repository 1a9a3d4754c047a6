// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
)

// platform is a form in which a platform says who holds or uses a GPU. A new platform is a row of one of the lists that platforms joins.
type platform struct {
	name   string
	source string // the place in which the platform's project specifies, writes or tests the form
	form   platformForm
}

// platformForm is a form with what is expected of it.
type platformForm interface{ check(t *testing.T) }

// cgroupForm is the content of /proc/<pid>/cgroup.
type cgroupForm struct {
	content string
	want    cgroup.Ref
}

func (f cgroupForm) check(t *testing.T) { assert.Equal(t, f.want, cgroup.Parse(f.content)) }

func TestPlatforms(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			assert.True(t, strings.HasPrefix(p.source, "https://"), "a row names the public source of its form")
			assert.False(t, seen[p.name], "the name of a row is its own")
			seen[p.name] = true
			p.form.check(t)
		})
	}
}

// platforms are the forms of all platforms. Package kube resolves the chains of owners.
func platforms() []platform {
	return slices.Concat(cgroupPlatforms, partsPlatforms, hostAllocations(), hostClaims(), amdVirtualMachines())
}
