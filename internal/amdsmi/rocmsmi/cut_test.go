// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/differential"
)

func TestOutputsCut(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"5.2.3", "6.1.2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			smitest.CutAnywhere(t, func(t *testing.T) (*smitest.Tool, gpu.Source) {
				t.Helper()
				text := strings.Replace(smitest.Fixture(t, "rocm-smi-"+version+".txt"), "0 1 \n===", "0 1 \nPID 31338 is using 1 DRM device(s):\n1 \n===", 1)
				text = strings.Replace(text, "==== RAS Info ====", "==== KFD Processes ====\nKFD process information:\n"+
					"PID 	PROCESS NAME	GPU(s)	VRAM USED 	SDMA USED	CU OCCUPANCY	\n"+
					"31337	Both        	2     	1073741824	0        	76          	\n31338	One         	1     	2048000512	0        	12          	\n==========\n==== RAS Info ====", 1)
				text = strings.Replace(text, "31                2", "31           257125", 1)
				tool := smitest.ROCmTool(smitest.Fixture(t, "rocm-smi-"+version+".json"), text)
				return tool, newTestSource(tool)
			}, "--json", "--show")
		})
	}
}

// A recorded output that is cut anywhere yields the values of the whole, or none.
func TestRecordedOutputsCut(t *testing.T) {
	t.Parallel()
	for _, file := range smitest.Recordings(t, "rocm-smi", "*.json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			whole := differential.Flatten(smitest.Read(t, newTestSource(smitest.ROCmTool(string(text), ""))))
			for n := 0; n < len(text); n += 1 + len(text)/40 {
				if node, err := newTestSource(smitest.ROCmTool(string(text[:n]), "")).Read(t.Context()); err == nil {
					smitest.NoOther(t, fmt.Sprintf("%d of %d bytes", n, len(text)), whole, node)
				}
			}
		})
	}
}
