// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goContexts are the contexts in which a block of Go is valid: a file, declarations, statements, fields, values, constants.
var goContexts = []string{"%s", "package p\n%s", "package p\nfunc _() {\n%s\n}", "package p\ntype _ struct {\n%s\n}", "package p\nvar _ = []any{\n%s\n}", "package p\nconst (\n%s\n)"}

func parseGo(text string) error {
	var errs []error
	for _, context := range goContexts {
		_, err := parser.ParseFile(token.NewFileSet(), "block.go", strings.Replace(context, "%s", text, 1), parser.SkipObjectResolution)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func TestParseGo(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"package p\n\nfunc f() {}": true,
		"func f() {}":              true,
		"Cores Opt[int64] // CUDA": true,
		"{a, 0, value(b)},":        true,
		`Intel Vendor = "Intel"`:   true,
		"f(a":                      false,
	} {
		assert.Equal(t, ok, parseGo(text) == nil, text)
	}
}

// The commands of the pages for developers exist: targets of make, packages and tests of go test.
func TestDocumentedTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(repository(t), "Makefile"))
	require.NoError(t, err)
	simulator, err := os.ReadFile(filepath.Join(repository(t), "test", "nvmlsim", "Makefile"))
	require.NoError(t, err)
	tests, commands := testFunctions(t), 0
	for _, b := range blocks(t) {
		if b.language != "sh" || !isForDevelopers(b.page) || strings.HasPrefix(b.text, "NVMLSIM_SCENARIO=") {
			continue
		}
		for line := range strings.Lines(b.text) {
			commands++
			line, _, _ = strings.Cut(line, " #")
			line = strings.TrimSpace(line)
			if target, ok := strings.CutPrefix(line, "make -C test/nvmlsim"); ok {
				assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(cmp.Or(strings.TrimSpace(target), "all"))+`:`, string(simulator), b.page)
				continue
			}
			if target, ok := strings.CutPrefix(line, "make "); ok {
				assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(target)+`:`, string(makefile), b.page)
				continue
			}
			for _, m := range regexp.MustCompile(` \./(\S+)`).FindAllStringSubmatch(line, -1) {
				if m[1] != exampleFolder {
					assert.DirExists(t, filepath.Join(repository(t), m[1]), "%s: %s", b.page, line)
				}
			}
			if m := regexp.MustCompile(` -run (Test\w+)`).FindStringSubmatch(line); m != nil {
				assert.True(t, hasPrefix(tests, m[1]), "%s: %s", b.page, line)
			}
			assert.Regexp(t, `^(GPURECEIVER_HISTORY=\S+ )?go (test|env) `, line, "%s: a command that this test does not know", b.page)
		}
	}
	assert.Greater(t, commands, 10)
}

func isForDevelopers(page string) bool {
	return page == "CONTRIBUTING.md" || page == "test/nvmlsim/README.md" || strings.HasPrefix(page, "docs/develop/")
}

func hasPrefix(names map[string]bool, prefix string) bool {
	for name := range names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// exampleFolder is the source of docs/develop/add-a-source.md, which is not in the repository.
const exampleFolder = "internal/i915"

// The source of docs/develop/add-a-source.md compiles beside the receiver as the page has it, and passes its tests and the tests of the
// configuration.
func TestDocumentedSource(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	replace := map[string]string{}
	put := func(path, content string) {
		file := filepath.Join(directory, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		replace[filepath.Join(repository(t), path)] = file
	}
	insert := func(path, after, text string) {
		content, err := os.ReadFile(filepath.Join(repository(t), path))
		require.NoError(t, err)
		before, rest, ok := strings.Cut(string(content), after)
		require.True(t, ok, "%s: %s", path, after)
		put(path, before+after+text+rest)
	}
	var parts []string
	for _, b := range blocks(t) {
		if b.page == "docs/develop/add-a-source.md" && b.language == "go" {
			parts = append(parts, b.text)
		}
	}
	require.Len(t, parts, 5, "the vendor, the configuration, the source, its test and the entry")
	insert("internal/gpu/enums.go", "AMD    Vendor = \"AMD\"\n", parts[0])
	put(exampleFolder+"/config.go", parts[1])
	put(exampleFolder+"/source.go", parts[2])
	put(exampleFolder+"/source_test.go", parts[3])
	scrapers, err := os.ReadFile(filepath.Join(repository(t), "receiver", "scrapers.go"))
	require.NoError(t, err)
	entry := strings.Replace(string(scrapers), "var scraperKinds = map[string]scraperKind{\n", "var scraperKinds = map[string]scraperKind{\n"+parts[4], 1)
	put("receiver/scrapers.go", strings.Replace(entry, "import (\n", "import (\n\t\"github.com/otelgpu/gpureceiver/"+exampleFolder+"\"\n", 1))

	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(directory, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	run := func(directory string, command ...string) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = directory
		cmd.Env = append(os.Environ(), "CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations", "GOWORK=off")
		output, err := cmd.CombinedOutput()
		require.NoError(t, err, string(output))
		assert.NotContains(t, string(output), "no tests to run")
	}
	// A test runs in the directory of its package, which the example does not have.
	program := filepath.Join(directory, "i915.test")
	run(repository(t), "go", "test", "-overlay", file, "-vet=off", "-c", "-o", program, "./"+exampleFolder)
	run(directory, program)
	run(repository(t), "go", "test", "-overlay", file, "-vet=off", "-run", "^(TestEachScraperAlone|TestScrapersTogether)$", "./receiver")
}
