// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"encoding/json"
	"time"
)

// Opt is a value that may not have been read. The zero Opt is absent.
type Opt[T any] struct {
	value T
	known bool
}

// Some returns a value that was read.
func Some[T any](v T) Opt[T] { return Opt[T]{value: v, known: true} }

// Get returns the value and whether it was read.
func (o Opt[T]) Get() (T, bool) { return o.value, o.known }

// Known reports whether the value was read.
func (o Opt[T]) Known() bool { return o.known }

// Or returns o if it was read, otherwise other: a preferred value and its fallback.
func (o Opt[T]) Or(other Opt[T]) Opt[T] {
	if o.known {
		return o
	}
	return other
}

// MarshalJSON implements json.Marshaler: null if the value was not read.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.known {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Opt[T]) UnmarshalJSON(data []byte) error {
	var value *T
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*o = Opt[T]{}
	if value != nil {
		*o = Some(*value)
	}
	return nil
}

// Number is the type of the value of a counter.
type Number interface{ ~int64 | ~float64 }

// Counter is a monotonic total that may not have been read. The zero Counter is absent.
//
// Since is when counting started, for totals that the receiver keeps, and for totals that were seen to be reset. It is zero for other
// totals that the driver keeps. Then the series starts at its first observation, and starts again when the total falls or Device.Epoch
// changes.
type Counter[N Number] struct {
	total N
	since time.Time
	base  N
	known bool
}

// Total returns a total that the driver keeps.
func Total[N Number](v N) Counter[N] { return Counter[N]{total: v, known: true} }

// TotalSince returns a total that is counted since a known time.
func TotalSince[N Number](v N, since time.Time) Counter[N] {
	return Counter[N]{total: v, since: since, known: true}
}

// TotalAfterReset returns a total that the driver keeps and that was reset. since is when that was seen first, and base what it was then.
func TotalAfterReset[N Number](v, base N, since time.Time) Counter[N] {
	return Counter[N]{total: v, base: base, since: since, known: true}
}

// Get returns the total and whether it was read.
func (c Counter[N]) Get() (N, bool) { return c.total, c.known }

// Known reports whether the total was read.
func (c Counter[N]) Known() bool { return c.known }

// Since returns when counting started, or the zero time if only the driver knows.
func (c Counter[N]) Since() time.Time { return c.since }

// Base returns what the total was at Since: 0, except after a reset.
func (c Counter[N]) Base() N { return c.base }
