// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"
)

// Each link within the repository leads to a file that is there, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	anchors := map[string]map[string]bool{}
	all := pages(t)
	for _, p := range all {
		anchors[p.path] = p.anchors()
	}
	links := 0
	for _, p := range all {
		p.each(func(n ast.Node) bool {
			var target string
			switch n := n.(type) {
			case *ast.Link:
				target = string(n.Destination)
			case *ast.Image:
				target = string(n.Destination)
			default:
				return true
			}
			address, err := url.Parse(target)
			require.NoError(t, err, "%s: %s", p.path, target)
			if address.Scheme != "" {
				return true
			}
			links++
			file := p.path
			if address.Path != "" {
				file = path.Join(path.Dir(p.path), address.Path)
			}
			_, err = os.Stat(filepath.Join(repository(t), file))
			if !assert.NoError(t, err, "%s: %s", p.path, target) {
				return true
			}
			if known, ok := anchors[file]; ok && address.Fragment != "" {
				assert.True(t, known[address.Fragment], "%s: %s: %s has no such heading", p.path, target, file)
			}
			return true
		})
	}
	assert.Greater(t, links, 100)
}

var htmlImage = regexp.MustCompile(`<(?:img|source) [^>]*(?:src|srcset)="([^"]+)"`)

// The pictures that a page shows by HTML, for light and dark, are there, and each has a text for those who do not see it.
func TestHTMLImages(t *testing.T) {
	t.Parallel()
	dark := 0
	for _, p := range pages(t) {
		for _, m := range htmlImage.FindAllStringSubmatch(string(p.source), -1) {
			assert.FileExists(t, filepath.Join(repository(t), path.Dir(p.path), m[1]), "%s: %s", p.path, m[1])
			if strings.HasPrefix(m[0], "<img") {
				assert.Regexp(t, ` alt="[^"]{20,}"`, m[0], "%s", p.path)
			} else {
				dark++
			}
		}
	}
	assert.GreaterOrEqual(t, dark, 5, "the pictures of the page")
}

var pageAddress = regexp.MustCompile(`(?:https://github\.com/otelgpu/gpureceiver/blob/main/|[^\w/.-])(docs/[a-z/_-]+\.md)(#[a-z0-9_-]+)?`)

// A link of an alert or of another program to a page of this repository leads to a heading.
func TestAddressesOfPages(t *testing.T) {
	t.Parallel()
	anchors := map[string]map[string]bool{}
	for _, p := range pages(t) {
		anchors[p.path] = p.anchors()
	}
	count := 0
	for _, directory := range []string{"deploy", "config", "cmd", "internal", "receiver", "exporter"} {
		err := filepath.WalkDir(filepath.Join(repository(t), directory), func(file string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() == "node_modules" {
				return err
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, m := range pageAddress.FindAllStringSubmatch(string(content), -1) {
				count++
				known, ok := anchors[m[1]]
				if assert.True(t, ok, "%s: %s", file, m[0]) && m[2] != "" {
					assert.True(t, known[strings.TrimPrefix(m[2], "#")], "%s: %s", file, m[0])
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Greater(t, count, 30)
}

// Every page below docs/ can be reached from the index.
func TestIndex(t *testing.T) {
	t.Parallel()
	links := map[string][]string{}
	for _, p := range pages(t) {
		p.each(func(n ast.Node) bool {
			if link, ok := n.(*ast.Link); ok {
				if address, err := url.Parse(string(link.Destination)); err == nil && address.Scheme == "" && address.Path != "" {
					links[p.path] = append(links[p.path], path.Join(path.Dir(p.path), address.Path))
				}
			}
			return true
		})
	}
	reached := map[string]bool{"docs/README.md": true}
	for _, target := range links["docs/README.md"] {
		reached[target] = true
	}
	for _, p := range pages(t) {
		if strings.HasPrefix(p.path, "docs/") {
			assert.True(t, reached[p.path], "docs/README.md has no link to %s", p.path)
		}
	}
}
