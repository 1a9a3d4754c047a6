// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var ofTest = []version{{"the tool", "decides.yaml", `version: (\d+\.\d+\.\d+)`, []place{
	{"*.md", `tool-(\d+\.\d+\.\d+)\.tar`},
	{"deploy/*.yaml", `image: tool:(\d+\.\d+\.\d+)`},
}}}

// checkout writes files below a new directory.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestVersionsAreWritten(t *testing.T) {
	root := checkout(t, map[string]string{
		"decides.yaml":          "version: 0.2.0\n",
		"docs/a/install.md":     "tar xf tool-0.1.0.tar, then tool-0.1.0.tar again\nother-0.1.0.tar\n",
		"deploy/one.yaml":       "image: tool:0.1.0\n",
		"docs/testdata/kept.md": "tool-0.1.0.tar\n",
	})
	if err := run(root, ofTest); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"docs/a/install.md":     "tar xf tool-0.2.0.tar, then tool-0.2.0.tar again\nother-0.1.0.tar\n",
		"deploy/one.yaml":       "image: tool:0.2.0\n",
		"docs/testdata/kept.md": "tool-0.1.0.tar\n",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != want {
			t.Errorf("%s is %q, not %q", name, text, want)
		}
	}
}

func TestVersionsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       string
	}{
		"a place that names none":       {"deploy/one.yaml", "image: other\n", "no file of deploy/*.yaml"},
		"a version at no known place":   {"docs/b.md", "Ask for 0.2.0.\n", "docs/b.md:1 names 0.2.0, the version of the tool"},
		"no version in what decides it": {"decides.yaml", "name: tool\n", "decides.yaml contains nothing like"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"decides.yaml": "version: 0.2.0\n", "a.md": "tool-0.1.0.tar\n", "deploy/one.yaml": "image: tool:0.1.0\n"}
			files[c.file] = c.text
			if err := run(checkout(t, files), ofTest); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, not %q", err, c.want)
			}
		})
	}
}
