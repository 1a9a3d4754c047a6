// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests named TestTrap… cover what other programs that read the tool's output got wrong.

// gpuXML returns a document of one GPU with these elements.
func gpuXML(elements string) []byte {
	return []byte("<?xml version=\"1.0\" ?>\n<nvidia_smi_log><driver_version>580.1</driver_version>" +
		"<gpu id=\"00000000:07:00.0\"><uuid>GPU-1</uuid>" + elements + "</gpu></nvidia_smi_log>")
}

func oneGPU(t *testing.T, elements string) *GPU {
	t.Helper()
	log, err := XML(gpuXML(elements))
	require.NoError(t, err)
	require.True(t, log.Complete)
	require.Len(t, log.GPUs, 1)
	return &log.GPUs[0]
}

// oneRow reads a table of one row.
func oneRow(t *testing.T, names, row string) *GPU {
	t.Helper()
	log, ok := QueryGPU([]byte(names+"\n"+row+"\n"), nil)
	require.True(t, ok)
	require.Zero(t, log.Dropped)
	require.Len(t, log.GPUs, 1)
	return &log.GPUs[0]
}

// own returns the files in a directory of testdata, which were written for the tests.
func own(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", directory, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	return load(t, filepath.Join("testdata", filepath.FromSlash(name)))
}

func load(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
