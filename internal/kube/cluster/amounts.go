// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// amount is how many of a resource there are.
type amount struct {
	resource string
	count    int64
}

// amounts returns the amounts of the counted resources, by name.
func (names resourceNames) amounts(list corev1.ResourceList) []amount {
	var amounts []amount
	for name, quantity := range list {
		if names.match(string(name)) {
			amounts = append(amounts, amount{resource: string(name), count: quantity.Value()})
		}
	}
	slices.SortFunc(amounts, func(a, b amount) int { return strings.Compare(a.resource, b.resource) })
	return amounts
}

// requested returns what a container requests of the counted resources, by name. Their requests equal their limits, and the API server
// sets one from the other.
func (names resourceNames) requested(c *corev1.Container) []amount {
	requested := names.amounts(c.Resources.Requests)
	for _, limit := range names.amounts(c.Resources.Limits) {
		if !contains(requested, limit.resource) {
			requested = append(requested, limit)
		}
	}
	return slices.DeleteFunc(requested, func(a amount) bool { return a.count == 0 })
}

// contains reports whether a resource is among amounts, possibly with 0.
func contains(amounts []amount, resource string) bool {
	return slices.ContainsFunc(amounts, func(a amount) bool { return a.resource == resource })
}

// count returns how many of a resource there are.
func count(amounts []amount, resource string) int64 {
	for _, a := range amounts {
		if a.resource == resource {
			return a.count
		}
	}
	return 0
}

// sum adds b to a, which does not change.
func sum(a, b []amount) []amount {
	return combine(a, b, func(x, y int64) int64 { return x + y })
}

// largest returns the larger count of each resource.
func largest(a, b []amount) []amount {
	return combine(a, b, func(x, y int64) int64 { return max(x, y) })
}

func combine(a, b []amount, operation func(x, y int64) int64) []amount {
	result := slices.Clone(a)
	for _, other := range b {
		i := slices.IndexFunc(result, func(x amount) bool { return x.resource == other.resource })
		if i < 0 {
			result = append(result, other)
			continue
		}
		result[i].count = operation(result[i].count, other.count)
	}
	return result
}
