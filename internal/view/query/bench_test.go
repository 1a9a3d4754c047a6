// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func BenchmarkSummarize(b *testing.B) {
	s := viewtest.Fleet(1000, 8, 64)
	for _, grouping := range []By{ByNothing, ByCluster, ByNode, ByNamespace, ByWorkload, ByModel} {
		b.Run("by_"+string(grouping), func(b *testing.B) {
			for b.Loop() {
				nodes, err := Nodes(s, Scope{})
				if err != nil {
					b.Fatal(err)
				}
				Summarize(Scope{}, nodes, grouping)
			}
		})
	}
}

func BenchmarkWorkloads(b *testing.B) {
	s := viewtest.Fleet(1000, 8, 64)
	for b.Loop() {
		Workloads(s.Nodes, UserFilter{})
	}
}
