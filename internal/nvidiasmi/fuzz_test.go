// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// printing is a Runner that prints the same for every command of a kind.
type printing struct{ listing, table, processes []byte }

func (p *printing) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	results := make([]command.Result, len(commands))
	for i := range commands {
		switch args := strings.Join(commands[i].Args, " "); {
		case strings.HasPrefix(args, "-q -x"):
			results[i].Stdout = p.listing
		case strings.HasPrefix(args, "pmon"):
			results[i].Stdout = p.processes
		default:
			results[i].Stdout = p.table
		}
	}
	return results, nil
}

// For any output of the tool, or of a malicious pod that replaces it: nothing panics, which would end the reads of all nodes, and what is
// sent is valid text and numbers.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"xml", "csv", "list", "pmon"} {
		files, err := filepath.Glob(filepath.Join("parse", "testdata", name, "*"))
		require.NoError(f, err)
		require.NotEmpty(f, files)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data, data, data)
		}
	}
	for _, twice := range []string{
		// Duplicate GPUs, MIG devices and values.
		`<gpu id="00000000:07:00.0"><uuid>GPU-1</uuid></gpu><gpu id="00000000:08:00.0"><uuid>GPU-1</uuid></gpu>`,
		`<gpu id="00000000:07:00.0"><minor_number>1</minor_number></gpu><gpu id="00000000:07:00.0"></gpu>`,
		`<gpu id="00000000:07:00.0"><uuid>GPU-1</uuid><mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices>` +
			`<mig_device><uuid>MIG-1</uuid></mig_device><mig_device><uuid>MIG-1</uuid></mig_device></mig_devices></gpu>`,
		`<gpu id="00000000:07:00.0"><uuid>GPU-1</uuid><pci><replay_counter>1</replay_counter><replay_counter>2</replay_counter></pci></gpu>`,
	} {
		document := []byte("<nvidia_smi_log><driver_version>580.1</driver_version>" + twice + "</nvidia_smi_log>")
		f.Add(document, []byte("uuid, pci.bus_id\nGPU-1, 00000000:07:00.0\nGPU-1, 00000000:08:00.0\n"), []byte(nil))
	}
	config := metadata.NewDefaultMetricsBuilderConfig()
	f.Fuzz(func(t *testing.T, listing, table, processes []byte) {
		for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
			tool := &printing{listing: listing, table: table, processes: processes}
			r := nvidiasmi.New(nvidiasmi.Config{Query: query}, tool, gpu.GroupAll)
			recorder := record.New(config, receivertest.NewNopSettings(metadata.Type))
			for range 2 {
				node, err := r.Read(t.Context())
				if err != nil {
					break
				}
				node.Host.NodeName = "node"
				node.CompleteIDs()
				metrics := recorder.Record(node)
				for _, p := range otlptest.Points(metrics) {
					require.False(t, math.IsNaN(p.Value) || math.IsInf(p.Value, 0), "%+v", p)
					require.False(t, p.Kind == "counter" && p.Value < 0, "%+v", p)
					require.LessOrEqual(t, p.Start, max(p.Time, pcommon.Timestamp(0)))
				}
				require.Empty(t, otlptest.Collisions(metrics))
				for _, resource := range metrics.ResourceMetrics().All() {
					sound(t, resource.Resource().Attributes())
				}
				for _, p := range otlptest.Points(metrics) {
					for key, value := range p.Attributes {
						if s, ok := value.(string); ok {
							require.True(t, utf8.ValidString(s) && len(s) <= 2048, "%s: %q", key, s)
						}
					}
				}
				// The second output ends in the middle.
				tool.listing, tool.table = half(listing), half(table)
			}
		}
	})
}

func half(b []byte) []byte { return bytes.Clone(b[:len(b)/2]) }

func sound(t *testing.T, attributes pcommon.Map) {
	t.Helper()
	for key, value := range attributes.All() {
		if value.Type() == pcommon.ValueTypeStr {
			require.True(t, utf8.ValidString(value.Str()) && len(value.Str()) <= 2048, "%s: %q", key, value.Str())
		}
	}
}
