// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// sameUUIDs is a recording of two GPUs whose UUIDs the publisher made equal.
const sameUUIDs = "dual_2080-v13.xml"

var minorNumber = regexp.MustCompile(`<minor_number>\d`)

// TestRecordedReads reads recorded output from end to end. Recordings are not part of the project: GPU_RECORDINGS names their directory.
func TestRecordedReads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("GPU_RECORDINGS"), "nvidia-smi-xml", "*.xml"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no recordings: GPU_RECORDINGS names no directory with nvidia-smi-xml")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			text := strings.ReplaceAll(string(data), "[REDACTED]", "N/A") // a version was removed from a recording
			f := &tool{xml: answer{stdout: text}, list: answer{stdout: "GPU 0: x (UUID: GPU-x)\n"}}
			r := newReader(t, QueryFull, f, newClock())
			for range 2 {
				node := read(t, r)
				said := problems(node)
				if strings.HasSuffix(path, sameUUIDs) {
					assert.Contains(t, said, "lists two GPUs as")
					said = said[strings.IndexByte(said, '\n')+1:]
				}
				assert.Empty(t, said)
				assert.NotEmpty(t, node.Devices)
				visible, ok := node.Presence[gpu.Visible].Get()
				assert.True(t, ok)
				assert.Len(t, node.Devices, int(visible))
				nodes, named := len(minorNumber.FindAllString(f.xml.stdout, -1)), 0
				for i := range node.Devices {
					d := &node.Devices[i]
					if d.Name != "" && d.Parent == "" {
						named++
					}
					assert.NotEqual(t, gpu.StateFailed, d.State(), d.Faults)
					assert.NotEmpty(t, d.Model)
				}
				assert.Equal(t, nodes, named, "a GPU has a name where it has a device node")
			}
			assert.Len(t, f.batches, 2)
		})
	}
}
