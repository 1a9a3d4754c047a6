// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"cmp"
	"errors"
	"go/parser"
	"go/token"
	"os"
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
