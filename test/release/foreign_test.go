// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const modulePath = "github.com/otelgpu/gpureceiver"

// outside is a directory outside of this repository. Go gets the module from a proxy that has it as a published version would be.
type outside struct {
	directory, version string
	env                []string
}

func newOutside(t *testing.T) outside {
	t.Helper()
	tree := requiredEnv(t, "RELEASE_MODULE")
	proxy := filepath.Join(t.TempDir(), "cache", "download", modulePath, "@v")
	require.NoError(t, os.MkdirAll(proxy, 0o755))
	packed := filepath.Join(proxy, "packed")
	file, err := os.Create(packed)
	require.NoError(t, err)
	sum := sha256.New()
	// The version is in the names within the archive; its sum is made without it.
	require.NoError(t, zip.CreateFromDir(sum, module.Version{Path: modulePath, Version: "v0.0.0"}, tree))
	o := outside{directory: t.TempDir(), version: fmt.Sprintf("v0.0.0-outside.h%x", sum.Sum(nil)[:6])}
	require.NoError(t, zip.CreateFromDir(file, module.Version{Path: modulePath, Version: o.version}, tree))
	require.NoError(t, file.Close())
	require.NoError(t, os.Rename(packed, filepath.Join(proxy, o.version+".zip")))
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(proxy, o.version+".mod"), mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(proxy, o.version+".info"), []byte(`{"Version":"`+o.version+`"}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(proxy, "list"), []byte(o.version+"\n"), 0o600))

	root, _, _ := strings.Cut(proxy, "/"+modulePath)
	usual := strings.TrimSpace(output(t, "go", "env", "GOPROXY"))
	o.env = append(os.Environ(), "GOPROXY=file://"+root+","+usual, "GONOSUMDB="+modulePath, "GOFLAGS=-modcacherw", "GOWORK=off")
	cache := strings.TrimSpace(output(t, "go", "env", "GOMODCACHE"))
	t.Cleanup(func() {
		assert.NoError(t, os.RemoveAll(filepath.Join(cache, modulePath+"@"+o.version)))
		left, err := filepath.Glob(filepath.Join(cache, "cache", "download", modulePath, "@v", o.version+".*"))
		assert.NoError(t, err)
		for _, file := range left {
			assert.NoError(t, os.Remove(file))
		}
	})
	return o
}

// run runs a program in the directory and returns what it prints.
func (o outside) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = o.directory, o.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, out)
	return string(out)
}

func (o outside) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(o.directory, name), []byte(content), 0o600))
}

// go get and an import are all that a program of one's own needs.
func TestGoGet(t *testing.T) {
	o := newOutside(t)
	o.run(t, "go", "mod", "init", "example.com/foreign")
	o.run(t, "go", "get", modulePath+"@"+o.version)
	o.write(t, "main.go", `package main

import (
	"fmt"

	"github.com/otelgpu/gpureceiver"
)

func main() { fmt.Println(gpureceiver.NewFactory().Type()) }
`)
	o.run(t, "go", "mod", "tidy")
	o.run(t, "go", "build", "-trimpath", "-o", "foreign", ".")
	assert.Equal(t, "gpu\n", o.run(t, "./foreign"))
}

// The builder's file of docs/start/existing-collector.md builds a collector with the receiver, and the page's configuration is valid for it.
func TestForeignBuilder(t *testing.T) {
	o := newOutside(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "start", "existing-collector.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(regexp.MustCompile("(?m)^   ").ReplaceAllString(string(page), ""), -1)
	require.Len(t, blocks, 2)
	published := modulePath + " v0.1.0"
	require.Contains(t, blocks[0][1], published)
	o.write(t, "builder-config.yaml", strings.NewReplacer(published, modulePath+" "+o.version, "    path: ./gpureceiver\n", "").Replace(blocks[0][1]))
	builder := filepath.Join(t.TempDir(), "builder")
	output(t, "go", "build", "-modfile=../../tools/go.mod", "-o", builder, "go.opentelemetry.io/collector/cmd/builder")
	o.run(t, builder, "--config=builder-config.yaml", "--skip-strict-versioning=false")
	components := o.run(t, "./collector/collector", "components")
	assert.Contains(t, components, "name: gpu\n")
	assert.Contains(t, components, "name: gpu_view\n")
	o.write(t, "config.yaml", blocks[1][1])
	o.run(t, "./collector/collector", "validate", "--config=config.yaml")
}
