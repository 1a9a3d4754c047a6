// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// BenchmarkExec measures one exec including its connection, on the client and the fake API server together.
func BenchmarkExec(b *testing.B) {
	for _, protocol := range []string{"WebSocket", "SPDY"} {
		b.Run(protocol, func(b *testing.B) {
			s := exectest.NewServer(b)
			s.Boxes["driver-n1"] = echo
			e, out := connect(b, s), newOutput()
			if protocol == "SPDY" {
				e.preferSPDY(exectest.Namespace)
			}
			b.ReportAllocs()
			for b.Loop() {
				out.reset()
				if _, err := e.Exec(b.Context(), inDriver, []string{"a"}, out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
