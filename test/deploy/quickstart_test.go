// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of the quick starts of Kubernetes do on a real API server what the pages say. No pod runs there.
func TestQuickStarts(t *testing.T) {
	t.Parallel()
	for _, page := range []struct {
		name, section, prints string
		endpoints             map[string]string // of objects, by kubectl's arguments
	}{
		{"kubernetes-agents.md", "", "gpureceiver-agent", map[string]string{
			"-n gpureceiver-agent daemonset/gpureceiver-agent":      "gateway.example:4317",
			"-n gpureceiver-cluster deployment/gpureceiver-cluster": "gateway.example:4317",
		}},
		{"kubernetes-outside.md", "", "yes\n", map[string]string{"-n gpureceiver-exec deployment/gpureceiver-exec": "gateway.example:4317"}},
		{"gateway.md", "Kubernetes", "gpureceiver-gateway", map[string]string{
			"-n gpureceiver-agent daemonset/gpureceiver-agent":      "gpureceiver-gateway.gpureceiver-gateway.svc:4317",
			"-n gpureceiver-gateway deployment/gpureceiver-gateway": "backend.example:4317",
		}},
	} {
		t.Run(page.name, func(t *testing.T) {
			run := administrator(t)
			start := time.Now()
			out, err := run(shellBlocks(t, "start/"+page.name, page.section))
			require.NoError(t, err, out)
			t.Logf("%s took %s", page.name, time.Since(start).Round(time.Second))
			assert.Contains(t, out, page.prints)
			for name, endpoint := range page.endpoints {
				object, err := run("kubectl get -o yaml " + name)
				require.NoError(t, err, object)
				assert.Contains(t, object, "image: registry.example/otelcol-gpu:0.1.0", name)
				assert.Contains(t, object, "value: "+endpoint, name)
				if !strings.Contains(name, "gateway") { // it passes on what agents call their cluster
					assert.Contains(t, object, "value: prod", name)
				}
			}
		})
	}
}
