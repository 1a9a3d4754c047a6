// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestMayBe(t *testing.T) {
	holder := func(change func(*gpu.Container)) *gpu.Container {
		c := train.joined()
		change(c)
		return c
	}
	names := holder(func(c *gpu.Container) { c.PodUID, c.ID = "", "" })
	noID := holder(func(c *gpu.Container) { c.ID = "" })
	tests := []struct {
		name         string
		holder, user *gpu.Container
		want         bool
	}{
		{"nothing to compare", names, train.used(), true},
		{"same pod, another id: the API is late", train.joined(), &gpu.Container{PodUID: train.uid(), ID: "x"}, true},
		{"another pod by UID", noID, infer.used(), false},
		{"another pod by name", names, infer.joined(), false},
		{"another container of the pod", names, helper.joined(), false},
		{"the pod by name, the container unknown", names, &gpu.Container{Namespace: "ml", PodName: train.pod, ID: "x"}, true},
		{"the same names in another namespace", names, &gpu.Container{Namespace: "other", PodName: train.pod, Name: train.name}, false},
		{"the pod was recreated", train.joined(), &gpu.Container{Namespace: "ml", PodName: train.pod, Name: train.name, PodUID: "old"}, false},
		{"ids alone", train.joined(), &gpu.Container{ID: "x"}, false},
		{"id alone", names, &gpu.Container{ID: "x"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, mayBe(tt.holder, tt.user))
		})
	}
}

// A holder is the same container as a user with its ID, or with all of its names.
func TestSame(t *testing.T) {
	named := func(change func(*gpu.Container)) *gpu.Container {
		c := train.joined()
		c.ID = ""
		change(c)
		return c
	}
	tests := []struct {
		name         string
		holder, user *gpu.Container
		want         bool
	}{
		{"id", &gpu.Container{ID: "x"}, &gpu.Container{ID: "x", PodName: "p"}, true},
		{"names", train.named(), train.joined(), true},
		{"names, and the UID of one", train.named(), named(func(*gpu.Container) {}), true},
		{"another namespace", named(func(c *gpu.Container) { c.Namespace, c.PodUID = "other", "" }), train.joined(), false},
		{"another pod", named(func(c *gpu.Container) { c.PodName, c.PodUID = "other", "" }), train.joined(), false},
		{"another container", named(func(c *gpu.Container) { c.Name, c.PodUID = "other", "" }), train.joined(), false},
		{"another pod of that name", named(func(c *gpu.Container) { c.PodUID = "other" }), train.joined(), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUsers(false)
			u.add(tt.user)
			if tt.want {
				assert.Same(t, tt.user, u.same(tt.holder))
			} else {
				assert.Nil(t, u.same(tt.holder))
			}
		})
	}
}
