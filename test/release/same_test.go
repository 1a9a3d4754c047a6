// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two builds, in directories of different names and under different umasks, give the same bytes.
func TestTwoBuildsAreTheSame(t *testing.T) {
	t.Parallel()
	second := requiredEnv(t, "RELEASE_SECOND")
	sums, err := os.ReadFile(filepath.Join(first(t), "SHA256SUMS"))
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	require.NoError(t, err)
	assert.Equal(t, string(sums), string(again))
	for _, ending := range []string{".tar.gz", ".deb", ".rpm", ".cdx.json"} {
		assert.Contains(t, string(sums), ending+"\n")
	}
	// The sums match the files of the release.
	cmd := strings.TrimSpace(output(t, "sh", "-c", "cd '"+second+"' && sha256sum --check --strict --quiet SHA256SUMS && echo fine"))
	assert.Equal(t, "fine", cmd)
}

// Both programs print their version and commit, and carry no path of the machine that built them.
func TestVersions(t *testing.T) {
	t.Parallel()
	commit := requiredEnv(t, "COMMIT")
	version := requiredEnv(t, "VERSION")
	for _, program := range []string{"otelcol-gpu", "otelgpu"} {
		file := one(t, "bin/*/"+program)
		assert.Equal(t, program+" version "+version+"+"+commit+"\n", output(t, file, "--version"))
		info, err := buildinfo.ReadFile(file)
		require.NoError(t, err)
		here, err := os.Getwd()
		require.NoError(t, err)
		checkout := filepath.Dir(filepath.Dir(here))
		assert.NotContains(t, info.String(), checkout)
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(content), checkout+"/", "%s has the path of the folder that it was built in", program)
	}
}

// The bill of materials names what is linked: the receiver itself, a module that it needs, and Go's library.
func TestBillOfMaterials(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(one(t, "*_linux_*.cdx.json"))
	require.NoError(t, err)
	var bom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []struct{ Name, Version, PURL string }
	}
	require.NoError(t, json.Unmarshal(content, &bom))
	assert.Equal(t, "CycloneDX", bom.BOMFormat)
	versions := map[string]string{}
	for _, c := range bom.Components {
		versions[c.Name] = c.Version
	}
	assert.Contains(t, versions, "github.com/otelgpu/gpureceiver")
	assert.NotEmpty(t, versions["std"])
	modules, err := os.Open(filepath.Join("..", "..", "go.mod"))
	require.NoError(t, err)
	defer modules.Close()
	for lines := bufio.NewScanner(modules); lines.Scan(); {
		if name, version, ok := strings.Cut(strings.TrimSpace(lines.Text()), " "); ok && name == "github.com/NVIDIA/go-nvml" {
			assert.Equal(t, version, versions[name])
			return
		}
	}
	t.Fatal("go.mod has no go-nvml")
}

// The archive has the programs, the configurations, the unit and how to install them, in one directory.
func TestArchive(t *testing.T) {
	t.Parallel()
	archive := one(t, "*_linux_*.tar.gz")
	directory := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
	listed := output(t, "tar", "--numeric-owner", "-tvzf", archive)
	for _, file := range []string{"otelcol-gpu", "otelgpu", "otelcol-gpu.service", "config/agent.yaml", "config/overlays/view.yaml", "slurm/prolog.sh", "INSTALL.md", "LICENSE", "otelcol-gpu.cdx.json"} {
		assert.Contains(t, listed, " "+directory+"/"+file+"\n")
	}
	for _, file := range []string{"INSTALL.md", "CHANGELOG.md"} {
		assert.NotRegexp(t, `\]\([^h#]`, output(t, "tar", "-xzOf", archive, directory+"/"+file), "a link of %s leads out of the archive", file)
	}
	for line := range strings.Lines(listed) {
		assert.Contains(t, line, " 0/0 ")
		program := strings.HasSuffix(line, "/otelcol-gpu\n") || strings.HasSuffix(line, "/otelgpu\n") || strings.HasSuffix(line, ".sh\n")
		assert.Equal(t, program || strings.HasPrefix(line, "d"), strings.Contains(strings.Fields(line)[0], "x"), line)
	}
}
