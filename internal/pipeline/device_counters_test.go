// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// countersAt returns a node that was read so many seconds after the first one. Its device has a power limit of 700 W and this energy.
func countersAt(seconds int, joules float64) *gpu.Node {
	d := healthy("GPU-1")
	d.Energy = gpu.Total(joules)
	d.Power.Limit[gpu.LimitEnforced] = gpu.Some(700.0)
	node := nodeOf(d)
	node.Time = time.Unix(1_700_000_000+int64(seconds), 0)
	return node
}

// increase is what a consumer of the values adds up: each rise, and each value after a fall.
func increase(values []float64) float64 {
	sum := 0.0
	for i := 1; i < len(values); i++ {
		if rise := values[i] - values[i-1]; rise >= 0 {
			sum += rise
		} else {
			sum += values[i]
		}
	}
	return sum
}

// A value that is wrong for one read adds nothing. A correct value adds what it did before, one read later.
func TestDoubtfulEnergy(t *testing.T) {
	const before, after = 22_543_297.0, 22_543_311.0
	for name, tt := range map[string]struct {
		joules   []float64 // at reads that are 10 s apart: 10,500 J at the most
		want     []float64
		increase float64
	}{
		"low once":   {[]float64{before, 200, after}, []float64{before, after}, 14},
		"0 once":     {[]float64{before, 0, after}, []float64{before, after}, 14},
		"high once":  {[]float64{before, 99_999_999_999, after}, []float64{before, after}, 14},
		"goes on":    {[]float64{before, before, after, after + 10_500}, []float64{before, before, after, after + 10_500}, 10_514},
		"reset":      {[]float64{before, 200, 207}, []float64{before, 207}, 207},
		"rises more": {[]float64{before, before + 50_000, before + 60_000}, []float64{before, before + 60_000}, 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			var c deviceCounters
			var got []float64
			for i, joules := range tt.joules {
				node := countersAt(10*i, joules)
				c.check(node)
				if v, ok := node.Devices[0].Energy.Get(); ok {
					got = append(got, v)
				}
			}
			assert.Equal(t, tt.want, got)
			assert.InDelta(t, tt.increase, increase(got), 1e-9)
		})
	}
}

// oneNode is a source that reads a node.
type oneNode struct{ node *gpu.Node }

func (s oneNode) Read(context.Context) (*gpu.Node, error) { return s.node, nil }
func (oneNode) Close() error                              { return nil }

// What a Reader returns has no total that may be wrong, whatever its source.
func TestReaderChecksCounters(t *testing.T) {
	var r Reader
	for i, joules := range []float64{22_543_297, 200, 22_543_311} {
		r.Source = oneNode{countersAt(10*i, joules)}
		node, err := r.Read(t.Context(), gpu.Host{})
		require.NoError(t, err)
		assert.Equal(t, joules != 200, node.Devices[0].Energy.Known())
	}
}

// A reset that the next read confirms says since when the total counts, and what it was then.
func TestConfirmedReset(t *testing.T) {
	var c deviceCounters
	var node *gpu.Node
	for i, joules := range []float64{22_543_297, 200, 207, 300} {
		node = countersAt(10*i, joules)
		c.check(node)
	}
	energy := node.Devices[0].Energy
	assert.Equal(t, gpu.TotalAfterReset(300.0, 200, countersAt(10, 0).Time), energy)

	node = countersAt(40, 5)
	node.Devices[0].Epoch++ // the driver was loaded again, which explains the fall
	c.check(node)
	assert.Equal(t, gpu.Total(5.0), node.Devices[0].Energy)
}

// A GPU that is lost, or a read that fails, does not change what is known. After an hour it is forgotten.
func TestCountersOfAbsentDevice(t *testing.T) {
	var c deviceCounters
	c.check(countersAt(0, 1_000_000))
	lost := countersAt(10, 0)
	lost.Devices[0].Energy = gpu.Counter[float64]{}
	c.check(lost)
	c.check(&gpu.Node{Time: lost.Time})
	node := countersAt(1000, 200)
	c.check(node)
	assert.False(t, node.Devices[0].Energy.Known())
	node = countersAt(1010, 1_000_100)
	c.check(node)
	assert.Equal(t, gpu.Total(1_000_100.0), node.Devices[0].Energy)

	c.check(&gpu.Node{Time: countersAt(1010+3601, 0).Time})
	assert.Empty(t, c.devices)
}

// A GPU that seems to have been throttled for longer than the time between two reads was not.
func TestDoubtfulThrottleTime(t *testing.T) {
	var c deviceCounters
	var got []gpu.Counter[float64]
	for i, seconds := range []float64{100, 110, 9_000_000, 130, 3} {
		node := countersAt(10*i, 0)
		node.Devices[0].Throttle[gpu.ThrottleHWThermal].Time = gpu.Total(seconds)
		c.check(node)
		got = append(got, node.Devices[0].Throttle[gpu.ThrottleHWThermal].Time)
	}
	assert.Equal(t, []gpu.Counter[float64]{gpu.Total(100.0), gpu.Total(110.0), {}, gpu.Total(130.0), {}}, got)
}

// TestEachCounterIsChecked: no counter of a device passes by the check. A new one that is not in it fails here.
func TestEachCounterIsChecked(t *testing.T) {
	node := func(seconds int, total int64) *gpu.Node {
		d := healthy("GPU-1")
		d.XIDs, d.Errors = make([]gpu.XIDCount, 2), make([]gpu.ErrorCount, 3)
		d.XIDs[1].XID, d.Errors[1].Block, d.Errors[2].Lifetime = 79, "umc", true
		d.Interconnect.Links = []gpu.Link{{Name: "0"}, {Name: "1"}}
		d.ECC.Locations = make([]gpu.LocationErrors, 1)
		counters(reflect.ValueOf(&d).Elem(), func(c reflect.Value) {
			switch c := c.Addr().Interface().(type) {
			case *gpu.Counter[int64]:
				*c = gpu.Total(total)
			case *gpu.Counter[float64]:
				*c = gpu.Total(float64(total))
			}
		})
		n := nodeOf(d)
		n.Time = countersAt(seconds, 0).Time
		return n
	}
	var c deviceCounters
	for i, total := range []int64{1000, 0, 1002} {
		n := node(10*i, total)
		c.check(n)
		count := 0
		counters(reflect.ValueOf(&n.Devices[0]).Elem(), func(v reflect.Value) {
			count++
			known := v.Addr().Interface().(interface{ Known() bool }).Known()
			assert.Equal(t, total != 0, known, "counter %d", count)
		})
		require.Greater(t, count, 100)
	}
}

// counters calls f for each gpu.Counter in a value.
func counters(v reflect.Value, f func(reflect.Value)) {
	if slices.Contains([]reflect.Type{reflect.TypeFor[gpu.Counter[int64]](), reflect.TypeFor[gpu.Counter[float64]]()}, v.Type()) {
		f(v)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				counters(v.Field(i), f)
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			counters(v.Index(i), f)
		}
	default:
	}
}

// What a node invents is bounded.
func TestCountersAreBounded(t *testing.T) {
	var c deviceCounters
	for read := range 3 {
		node := countersAt(read, 1)
		for i := range maxRemembered {
			node.Devices[0].Errors = append(node.Devices[0].Errors, gpu.ErrorCount{
				Block: string(rune('a'+read)) + string(rune(0x4e00+i)), Count: gpu.Total[int64](1),
			})
		}
		c.check(node)
		assert.Len(t, c.devices["GPU-1"].totals, maxRemembered)
		assert.True(t, node.Devices[0].Errors[maxRemembered-1].Count.Known())
	}
}
