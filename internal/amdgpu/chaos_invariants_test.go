// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
)

// look reads, and checks what always holds.
func (c *chaos) look() {
	c.clock.pass(time.Duration(1+c.rnd.IntN(90)) * time.Second)
	node := read(c.t, c.source)
	ids := map[string]bool{}
	addresses := map[string]bool{}
	for i := range node.Devices {
		d := &node.Devices[i]
		require.False(c.t, ids[d.ID], "%q is there twice\n%s", d.ID, c.history.String())
		ids[d.ID] = d.ID != ""
		addresses[d.Info.PCIAddress] = true
		c.check(reflect.ValueOf(d).Elem(), d.ID)
		for _, u := range append(d.Utilization[:], d.MemoryController) {
			v, _ := u.Get()
			require.LessOrEqual(c.t, v, 1.0, "%s\n%s", d.ID, c.history.String())
		}
		for _, s := range d.Temperature {
			v, _ := s.Get()
			require.True(c.t, v >= plausible.Coldest && v <= plausible.Hottest, "%s is %v °C hot", d.ID, v)
		}
		watts, _ := d.Power.Draw.Get()
		require.LessOrEqual(c.t, watts, plausible.MostPower)
	}
	require.Len(c.t, addresses, len(c.machine.Cards), c.history.String())
	require.EqualValues(c.t, len(c.machine.Cards), presence(node)[0]+presence(node)[1])
	uses := map[[2]string]bool{}
	for i := range node.Processes {
		p := &node.Processes[i]
		key := [2]string{strconv.FormatInt(p.PID, 10), p.DeviceID}
		require.False(c.t, uses[key], "%v is there twice", key)
		uses[key] = true
		c.check(reflect.ValueOf(p).Elem(), "process")
		for _, u := range p.Utilization {
			v, _ := u.Get()
			require.LessOrEqual(c.t, v, 1.0)
		}
	}
	for _, card := range c.machine.Cards {
		if !c.spoiled[card.Address] && !c.kfd {
			require.Equal(c.t, c.whole[card.Address], c.fromFiles(node, card.Address), c.history.String())
		}
	}
}

// check requires that no number is negative, infinite or absurdly large.
func (c *chaos) check(v reflect.Value, place string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[time.Time]() {
				c.check(v.Field(i), place+"."+v.Type().Field(i).Name)
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			c.check(v.Index(i), place+"."+strconv.Itoa(i))
		}
	case reflect.Float64:
		if !strings.Contains(place, "Temperature") {
			require.True(c.t, v.Float() >= 0 && v.Float() < 1e15, "%s is %v\n%s", place, v.Float(), c.history.String())
		}
	case reflect.Int64:
		require.True(c.t, v.Int() >= 0 && v.Int() <= 1<<62, "%s is %v\n%s", place, v.Int(), c.history.String())
	default:
	}
}
