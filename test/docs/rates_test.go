// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rateList has the limits of words and phrases that the tree still has. When the limit of a phrase in pages reaches 0, words.tsv can have it.
//
//go:embed rates.tsv
var rateList string

// The columns of rates.tsv with limits.
const (
	inComments = 1 + iota
	inNames
	inPages
	inMessages
	rateColumns = 6
)

// rate limits how often a pattern is in 1,000 lines.
type rate struct {
	pattern *regexp.Regexp
	limit   float64
	instead string
}

func rates(t *testing.T, column int) []rate {
	t.Helper()
	var all []rate
	for line := range strings.Lines(rateList) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		require.Len(t, columns, rateColumns, line)
		if columns[column] == "-" {
			continue
		}
		limit, err := strconv.ParseFloat(columns[column], 64)
		require.NoError(t, err, line)
		all = append(all, rate{phrase(columns[0]), limit, columns[rateColumns-1]})
	}
	require.NotEmpty(t, all)
	return all
}

// phrase matches whole words, also if a line ends between them.
func phrase(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(pattern, " ", `\s+`) + `)\b`)
}

// passage is text that belongs together: a comment or a page.
type passage struct {
	path string
	line int
	text string
}

// excess returns a text for each pattern that is above its limit, with the places of the pattern.
func excess(passages []passage, rates []rate) []string {
	lines := 0
	for _, b := range passages {
		lines += 1 + strings.Count(b.text, "\n")
	}
	var all []string
	for _, r := range rates {
		var places []string
		for _, b := range passages {
			for _, hit := range r.pattern.FindAllStringIndex(b.text, -1) {
				places = append(places, fmt.Sprintf("%s:%d", b.path, b.line+strings.Count(b.text[:hit[0]], "\n")))
			}
		}
		if found := 1000 * float64(len(places)) / float64(lines); found > r.limit {
			all = append(all, fmt.Sprintf("%s: %.1f in 1,000 lines, the limit is %g; write %s:\n%s",
				r.pattern, found, r.limit, r.instead, strings.Join(places, "\n")))
		}
	}
	return all
}

// The comments, the names and the messages in the Go files, and the descriptions in metadata.yaml, keep to the limits of rates.tsv. `make lint`
// runs this test.
func TestRatesInGoFiles(t *testing.T) {
	t.Parallel()
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	command.Dir = repository(t)
	listed, err := command.Output()
	require.NoError(t, err)
	var comments, names []passage
	messages := descriptions(t)
	for path := range strings.Lines(string(listed)) {
		path = strings.TrimSpace(path)
		if strings.HasPrefix(filepath.Base(path), "generated_") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(repository(t), path))
		if os.IsNotExist(err) { // removed and not yet committed
			continue
		}
		require.NoError(t, err)
		file := parseGo(t, path, source)
		comments, names = append(comments, file.comments()...), append(names, file.names()...)
		if !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "test/") && !strings.HasPrefix(path, "tools/") {
			messages = append(messages, file.messages()...)
		}
	}
	for _, e := range slices.Concat(excess(comments, rates(t, inComments)), excess(names, rates(t, inNames)), excess(messages, rates(t, inMessages))) {
		assert.Fail(t, e)
	}
}

// goFile is a Go file in which texts are counted.
type goFile struct {
	path  string
	files *token.FileSet
	*ast.File
}

func parseGo(t *testing.T, path string, source []byte) goFile {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	return goFile{path, files, file}
}

func (f goFile) passage(n ast.Node, text string) passage {
	return passage{f.path, f.files.Position(n.Pos()).Line, text}
}

// comments returns the comments without directives and the license.
func (f goFile) comments() (comments []passage) {
	for _, group := range f.Comments {
		first := group.List[0].Text
		if strings.HasPrefix(first, "// Copyright ") || strings.HasPrefix(first, "/*") { // C
			continue
		}
		comments = append(comments, f.passage(group, commentText(group)))
	}
	return comments
}

// names returns each name once.
func (f goFile) names() (names []passage) {
	seen := map[string]bool{}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
			seen[id.Name] = true
			names = append(names, f.passage(id, id.Name))
		}
		return true
	})
	return names
}

// messages returns the strings of several words, such as log messages, errors and help texts.
func (f goFile) messages() (messages []passage) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		expression, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := constant(expression)
		if words := strings.Fields(text); len(words) > 1 {
			messages = append(messages, f.passage(n, strings.Join(words, " "))) // one line, whatever its length
		}
		return !ok
	})
	return messages
}

// description matches a description in metadata.yaml.
var description = regexp.MustCompile(`(?m)^\s*description: (.*)$`)

// descriptions returns the descriptions of metrics, attributes and events.
func descriptions(t *testing.T) (all []passage) {
	t.Helper()
	for _, path := range []string{"metadata.yaml", "exporter/metadata.yaml", "exporter/kubernetes/metadata.yaml"} {
		source, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(path)))
		require.NoError(t, err)
		for _, m := range description.FindAllSubmatchIndex(source, -1) {
			all = append(all, passage{path, 1 + bytes.Count(source[:m[2]], []byte("\n")), string(source[m[2]:m[3]])})
		}
	}
	require.Greater(t, len(all), 300)
	return all
}

// directive matches a comment for a tool. What follows its second // is for readers.
var directive = regexp.MustCompile(`^//\w+:\S*\s*(?://)?`)

func commentText(group *ast.CommentGroup) string {
	lines := make([]string, 0, len(group.List))
	for _, comment := range group.List {
		lines = append(lines, strings.TrimPrefix(directive.ReplaceAllString(comment.Text, ""), "//"))
	}
	return strings.Join(lines, "\n")
}

// The pages keep to the limits of rates.tsv. Code is not text.
func TestRatesInPages(t *testing.T) {
	t.Parallel()
	var all []passage
	for _, p := range pages(t) {
		if !unchecked(p) {
			all = append(all, passage{p.path, 1, withoutCode(p.source)})
		}
	}
	for _, e := range excess(all, rates(t, inPages)) {
		assert.Fail(t, e)
	}
}

var (
	codeBlock = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	codeSpan  = regexp.MustCompile("`[^`\n]*`|\\]\\([^)]*\\)")
)

// withoutCode empties the code and the targets of the links of a page. The lines stay, so that places have the right numbers.
func withoutCode(source []byte) string {
	source = codeBlock.ReplaceAllFunc(source, func(code []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(code, []byte("\n"))) })
	return string(codeSpan.ReplaceAll(source, nil))
}

// What the check must notice.
func TestExcess(t *testing.T) {
	t.Parallel()
	source := []byte("// Copyright The gpureceiver Authors\n\n// Package p is the speed of\n// that\n// of the GPU.\npackage p\n\n" +
		"var a = \"that of\" // none\n\n//nolint:unused // That of b\nvar b = 0\n")
	file := parseGo(t, "p.go", source)
	comments := file.comments()
	limits := []rate{{phrase("that of"), 0, "the noun"}}
	assert.Equal(t, []string{`(?i)\b(?:that\s+of)\b: 400.0 in 1,000 lines, the limit is 0; write the noun:` + "\np.go:4\np.go:10"}, excess(comments, limits))
	limits[0].limit = 400
	assert.Empty(t, excess(comments, limits))
	assert.Equal(t, []passage{{"p.go", 6, "p"}, {"p.go", 8, "a"}, {"p.go", 11, "b"}}, file.names())
	assert.Equal(t, []passage{{"p.go", 8, "that of"}}, file.messages())

	page := withoutCode([]byte("a `folder`\n```sh\ncd folder\n```\n[b](folder.md) folder\n"))
	assert.Equal(t, []string{`(?i)\b(?:folder)\b: 166.7 in 1,000 lines, the limit is 0; write directory:` + "\np.md:5"},
		excess([]passage{{"p.md", 1, page}}, []rate{{phrase("folder"), 0, "directory"}}))
}
