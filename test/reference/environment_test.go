// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	environmentVariable = regexp.MustCompile(`\$\{env:(\w+)(?::-([^}]*))?}`)
	documentedValue     = regexp.MustCompile("`([^`]*)`")
)

// docs/reference/environment.md has a row for each variable of the shipped configurations, with each of its defaults, and no other row.
func TestVariablesAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	want := map[string]map[string]bool{}
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "config"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(file)
		for _, ok := range environmentVariable.FindAllStringSubmatch(string(content), -1) {
			if want[ok[1]] == nil {
				want[ok[1]] = map[string]bool{}
			}
			if value := ok[2]; value != "" && value != "[]" {
				want[ok[1]][value] = true
			}
		}
		return err
	}))
	documented := map[string]map[string]bool{}
	for _, row := range Read(t, root).Tables["Variable"] {
		values := map[string]bool{}
		for _, value := range documentedValue.FindAllStringSubmatch(row[len(row)-2], -1) {
			values[value[1]] = true
		}
		if empty := len(values) == 0; empty {
			assert.Regexp(t, "^(empty|none)", row[len(row)-2], row[0])
		}
		documented[strings.Trim(row[0], "`")] = values
	}
	assert.Equal(t, want, documented)
	assert.NotEmpty(t, want)
}
