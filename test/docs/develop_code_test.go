// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The source of docs/develop/add-a-source.md compiles beside the receiver as the page has it, and passes its tests and the tests of the
// configuration.
func TestDocumentedSource(t *testing.T) {
	t.Parallel()
	parts := goBlocks(t, "docs/develop/add-a-source.md")
	require.Len(t, parts, 5, "the vendor, the configuration, the source, its test and the entry")
	o := newOverlay(t)
	o.insert("internal/gpu/enums.go", "AMD    Vendor = \"AMD\"\n", parts[0])
	o.put(exampleFolder+"/config.go", parts[1])
	o.put(exampleFolder+"/source.go", parts[2])
	o.put(exampleFolder+"/source_test.go", parts[3])
	o.insert("receiver/scrapers.go", "import (\n", "\t\"github.com/otelgpu/gpureceiver/"+exampleFolder+"\"\n")
	o.insert("receiver/scrapers.go", "var scraperKinds = map[string]scraperKind{\n", parts[4])

	// A test runs in the directory of its package, which the example does not have.
	program := filepath.Join(o.directory, "i915.test")
	o.run(o.root, "go", "test", "-overlay", o.file(), "-vet=off", "-c", "-o", program, "./"+exampleFolder)
	o.run(o.directory, program)
	o.run(o.root, "go", "test", "-overlay", o.file(), "-vet=off", "-run", "^(TestEachScraperAlone|TestScrapersTogether)$", "./receiver")
}

// The rows of docs/develop/add-a-metric.md for NVML compile in the tables that the page names, and the second one is in the code.
func TestDocumentedRows(t *testing.T) {
	t.Parallel()
	parts := goBlocks(t, "docs/develop/add-a-metric.md")
	require.Len(t, parts, 7, "the field, two rows, the line of the record, and three of tests")
	o := newOverlay(t)
	o.insert("internal/gpu/device.go", "type Device struct {\n", parts[0])
	o.insert("internal/nvml/device/clocks.go", "var clockRows = []quantity{\n", parts[1])
	o.run(o.root, "go", "build", "-overlay", o.file(), "./internal/nvml/device")
	power, err := os.ReadFile(filepath.Join(o.root, "internal/nvml/device/power.go"))
	require.NoError(t, err)
	assert.Contains(t, strings.ReplaceAll(string(power), "\t", ""), strings.ReplaceAll(parts[2], "\t", ""))
}

// goBlocks returns the blocks of Go of a page.
func goBlocks(t *testing.T, page string) (texts []string) {
	t.Helper()
	for _, b := range blocks(t) {
		if b.page == page && b.language == "go" {
			texts = append(texts, b.text)
		}
	}
	return texts
}

// overlay is the repository with other files, for the flag -overlay of go.
type overlay struct {
	*testing.T
	root, directory string
	replace         map[string]string // paths in root to paths in directory
}

func newOverlay(t *testing.T) *overlay {
	t.Helper()
	return &overlay{t, repository(t), t.TempDir(), map[string]string{}}
}

func (o *overlay) put(path, content string) {
	o.Helper()
	file := filepath.Join(o.directory, strings.ReplaceAll(path, "/", "_"))
	require.NoError(o, os.WriteFile(file, []byte(content), 0o600))
	o.replace[filepath.Join(o.root, path)] = file
}

func (o *overlay) insert(path, after, text string) {
	o.Helper()
	file := filepath.Join(o.root, path)
	if replaced, ok := o.replace[file]; ok {
		file = replaced
	}
	content, err := os.ReadFile(file)
	require.NoError(o, err)
	before, rest, ok := strings.Cut(string(content), after)
	require.True(o, ok, "%s: %s", path, after)
	o.put(path, before+after+text+rest)
}

// file writes the overlay and returns its path.
func (o *overlay) file() string {
	o.Helper()
	content, err := json.Marshal(map[string]any{"Replace": o.replace})
	require.NoError(o, err)
	file := filepath.Join(o.directory, "overlay.json")
	require.NoError(o, os.WriteFile(file, content, 0o600))
	return file
}

func (o *overlay) run(directory string, command ...string) {
	o.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations", "GOWORK=off")
	output, err := cmd.CombinedOutput()
	require.NoError(o, err, string(output))
	assert.NotContains(o, string(output), "no tests to run")
}
