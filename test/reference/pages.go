// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// pageNames are the pages that have keys or examples of configurations.
var pageNames = []string{
	"configuration.md", "scrapers.md", "attribution.md",
	"storage-and-kernel-log.md", "exporters.md", "environment.md", "own-metrics.md",
}

// Pages is what the pages have.
type Pages struct {
	// Tables have the rows of each table by the first cell of its header.
	Tables map[string][]Row
	// Examples are the blocks of YAML, in order.
	Examples []Example
}

// Row is the cells of a row.
type Row []string

// Example is a configuration, or a part of one. Variables have their defaults, or the name of a node.
type Example struct {
	Page, Text string
	Conf       *confmap.Conf
}

// Read reads the pages of the repository in root.
func Read(t *testing.T, root string) Pages {
	t.Helper()
	read := Pages{Tables: map[string][]Row{}}
	for _, name := range pageNames {
		content, err := os.ReadFile(filepath.Join(root, "docs", "reference", name))
		require.NoError(t, err)
		read.addTables(string(content))
		read.addExamples(t, name, string(content))
	}
	return read
}

func (p *Pages) addTables(page string) {
	var header string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			header = ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case header == "":
			header = cells[0]
		case strings.HasPrefix(cells[0], "--"):
		default:
			p.Tables[header] = append(p.Tables[header], cells)
		}
	}
}

var (
	block    = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	variable = regexp.MustCompile(`\$\{env:\w+(?::-([^}]*))?}`)
)

func (p *Pages) addExamples(t *testing.T, page, content string) {
	t.Helper()
	for _, ok := range block.FindAllStringSubmatch(content, -1) {
		text := variable.ReplaceAllStringFunc(ok[1], func(v string) string {
			if value := variable.FindStringSubmatch(v)[1]; value != "" {
				return value
			}
			return "node-a"
		})
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
		require.NoError(t, err, "%s: %s", page, text)
		conf, err := retrieved.AsConf()
		require.NoError(t, err, "%s: %s", page, text)
		p.Examples = append(p.Examples, Example{page, text, conf})
	}
}

// Components returns the settings of each component of a type in an example, below receivers, exporters or extensions.
func (e *Example) Components(kind, componentType string) []map[string]any {
	all, _ := e.Conf.ToStringMap()[kind].(map[string]any)
	var result []map[string]any
	for id, settings := range all {
		if name, _, _ := strings.Cut(id, "/"); name == componentType {
			values, _ := settings.(map[string]any)
			result = append(result, values)
		}
	}
	return result
}
