// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// goClasses look in the Go files.
func goClasses(t *testing.T) []class {
	t.Helper()
	tests := testFunctions(t)
	identifiers := goIdentifiers(t)
	return []class{
		{
			name: "test, benchmark or fuzz test",
			is:   func(s span) bool { return goTest.MatchString(s.text) },
			check: func(s span) error {
				if name := goTest.FindStringSubmatch(s.text)[1]; !hasPrefix(tests, name) {
					return fmt.Errorf("no test begins with %s", name)
				}
				return nil
			},
			good: "go test -run TestInlineClass ./test/docs", bad: "TestInlineClassy",
		},
		{
			name: "identifier of a Go package",
			is: func(s span) bool {
				m := goIdentifier.FindStringSubmatch(s.text)
				return m != nil && identifiers[m[1]] != nil
			},
			check: func(s span) error {
				m := goIdentifier.FindStringSubmatch(s.text)
				if !identifiers[m[1]][m[2]] {
					return fmt.Errorf("no package %s declares %s", m[1], m[2])
				}
				return nil
			},
			good: "gpu.Device", bad: "gpu.Devices",
		},
	}
}

var (
	goTest       = regexp.MustCompile(`(?:^|-run |-bench )'?\^?((?:Test|Benchmark|Fuzz)[A-Z]\w*)`)
	goIdentifier = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*)([.(].*)?$`)
)

// goIdentifiers returns the exported identifiers by the name of their package.
func goIdentifiers(t *testing.T) map[string]map[string]bool {
	t.Helper()
	got := map[string]map[string]bool{}
	for _, file := range files(t, "*.go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(repository(t), file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if got[parsed.Name.Name] == nil {
			got[parsed.Name.Name] = map[string]bool{}
		}
		for _, name := range topLevel(parsed) {
			got[parsed.Name.Name][name] = true
		}
	}
	return got
}

// topLevel returns the names that a file declares, without methods.
func topLevel(file *ast.File) []string {
	var names []string
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
