// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// fileClasses look in the files that git would commit.
func fileClasses(t *testing.T) []class {
	t.Helper()
	files := files(t)
	other := textOf(t, slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		return strings.HasSuffix(file, ".md") || strings.HasPrefix(file, "test/docs/")
	}))
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(other, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words[word] = true
	}
	return []class{
		{
			name:  "path of the repository",
			is:    func(s span) bool { return len(repositoryPaths(files, s)) > 0 },
			check: func(s span) error { return exist(files, repositoryPaths(files, s)) },
			good:  "kubectl apply -k deploy/kubernetes/nvidia", bad: "deploy/kubernets/nvidia",
		},
		{
			name: "name of a file",
			is:   func(s span) bool { return fileName.MatchString(s.text) },
			check: func(s span) error {
				if slices.ContainsFunc(files, func(file string) bool { return path.Base(file) == s.text }) {
					return nil
				}
				return errors.New("no file has this name")
			},
			good: "metadata.yaml", bad: "metadata.yml",
		},
		{
			name: "installed path",
			is:   func(s span) bool { return installed.MatchString(s.text) },
			check: func(s span) error {
				if !strings.Contains(other, strings.TrimSuffix(s.text, "/")) {
					return errors.New("no source, manifest or package has this path")
				}
				return nil
			},
			good: "/etc/otelcol-gpu/environment", bad: "/etc/otelcol-gpu/environments",
		},
		{
			name: "name of a variable, a constant or an alert",
			is:   func(s span) bool { return constantName.MatchString(s.text) && !strings.HasPrefix(s.text, "DCGM_") },
			check: func(s span) error {
				if name := constantName.FindStringSubmatch(s.text)[1]; !words[name] {
					return fmt.Errorf("no source, configuration, rule or script has %s", name)
				}
				return nil
			},
			good: "OTLP_ENDPOINT=backend.example:4317", bad: "OTLP_ENDPOINTS",
		},
	}
}

var (
	fileName     = regexp.MustCompile(`^[\w-][\w.-]*\.(go|yaml|yml|sh|md|html|scenario|tsv|service)$`)
	installed    = regexp.MustCompile(`^/\S*(otelcol-gpu|otelgpu|gpureceiver)\S*$`)
	constantName = regexp.MustCompile(`^([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|GPUs?[A-Z][a-z]\w+)(=\S.*)?$`)
	pathLike     = regexp.MustCompile(`(?:^|[\s=])(?:\./)?([\w.-]+/[^\s,;'"]*)`)
)

// repositoryPaths returns the paths in a span that start with a directory of the repository, or of the page.
func repositoryPaths(files []string, s span) []string {
	var result []string
	for _, m := range pathLike.FindAllStringSubmatch(s.text, -1) {
		directory, _, _ := strings.Cut(m[1], "/")
		for _, base := range []string{"", path.Dir(s.page) + "/"} {
			if base != "" && !strings.HasSuffix(s.page, "/README.md") {
				continue
			}
			if hasFolder(files, base+directory) {
				result = append(result, base+m[1])
				break
			}
		}
	}
	return result
}

func hasFolder(files []string, directory string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, strings.TrimSuffix(directory, "/")+"/") })
}

// exist reports the paths that are neither a file nor a directory nor a pattern of some. What follows … or < is unknown.
func exist(files, paths []string) error {
	var missing []error
	for _, p := range paths {
		known, _, open := strings.Cut(strings.ReplaceAll(p, "<", "…"), "…")
		matches := func(file string) bool {
			matched, _ := path.Match(p, file)
			return matched || file == p || open && strings.HasPrefix(file, known)
		}
		if !hasFolder(files, strings.TrimSuffix(p, "...")) && !slices.ContainsFunc(files, matches) {
			missing = append(missing, fmt.Errorf("no file %s", p))
		}
	}
	return errors.Join(missing...)
}

// files returns the files that git would commit.
func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	args := append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, patterns...)
	return slices.DeleteFunc(strings.Fields(output(t, repository(t), "git", args...)), func(file string) bool {
		_, err := os.Stat(filepath.Join(repository(t), file))
		return err != nil // removed and not yet committed
	})
}

// textOf returns the contents of files.
func textOf(t *testing.T, files []string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(repository(t), file))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
		all.WriteByte('\n')
	}
	return all.String()
}
