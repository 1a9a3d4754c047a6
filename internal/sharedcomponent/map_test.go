// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sharedcomponent

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type instance struct{ ended int }

func (i *instance) Shutdown(context.Context) error {
	i.ended++
	return nil
}

// Components of one configuration share an instance until the last of them is shut down. Then there is a new one.
func TestShared(t *testing.T) {
	var m Map[string, *instance]
	var others []int
	get := func(cfg string) (*instance, func(context.Context) error) {
		i, shutdown, err := m.Get(cfg, func(before map[string]*instance) (*instance, error) {
			others = append(others, len(before))
			return &instance{}, nil
		})
		require.NoError(t, err)
		return i, shutdown
	}
	a, first := get("a")
	again, second := get("a")
	b, _ := get("b")
	assert.Same(t, a, again)
	assert.NotSame(t, a, b)
	require.NoError(t, first(t.Context()))
	assert.Zero(t, a.ended)
	require.NoError(t, second(t.Context()))
	assert.Equal(t, 1, a.ended)
	assert.Zero(t, b.ended)
	replaced, _ := get("a")
	assert.NotSame(t, a, replaced)
	assert.Equal(t, []int{0, 1, 1}, others)
}

// An instance that cannot be made is tried again.
func TestFailure(t *testing.T) {
	var m Map[string, *instance]
	for range 2 {
		_, _, err := m.Get("a", func(map[string]*instance) (*instance, error) { return nil, errors.New("refused") })
		require.EqualError(t, err, "refused")
	}
}
