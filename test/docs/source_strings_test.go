// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stringsOf returns the strings in the Go files below directories of the repository, without the strings of tests.
func stringsOf(t *testing.T, directories ...string) []string {
	t.Helper()
	var result []string
	for _, directory := range directories {
		result = append(result, stringsBelow(t, filepath.Join(repository(t), directory))...)
	}
	return result
}

func stringsOfModule(t *testing.T, module string) []string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = repository(t)
	directory, err := command.Output()
	require.NoError(t, err, module)
	return stringsBelow(t, strings.TrimSpace(string(directory)))
}

func stringsBelow(t *testing.T, directory string) []string {
	t.Helper()
	var result []string
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := constant(expression)
			if ok {
				result = append(result, text)
			}
			return !ok
		})
		return nil
	}))
	require.NotEmpty(t, result, directory)
	return result
}

// constant returns the text of a string literal, or of several that are added.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		if !ok || e.Op != token.ADD {
			return "", false
		}
		right, ok := constant(e.Y)
		return left + right, ok
	}
	return "", false
}
