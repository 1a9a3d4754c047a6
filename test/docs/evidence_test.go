// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// evidenceList says of the blocks of each page which test runs them, or what they need that no test has. A line is: page, language, the
// first line of the block or * for all others of the page and the language, "run" or "needs", and the test function or what is needed.
//
//go:embed evidence.tsv
var evidenceList string

type evidence struct{ page, language, first, kind, subject string }

func evidences(t *testing.T) []evidence {
	t.Helper()
	var all []evidence
	for line := range strings.Lines(evidenceList) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		cells := strings.Split(line, "\t")
		require.Len(t, cells, 5, line)
		all = append(all, evidence{cells[0], cells[1], cells[2], cells[3], cells[4]})
	}
	return all
}

// A block that TestBlocksParse cannot check is run by a test, or is in the list of blocks that need something that no test has. The number
// of these is here, so that one more is a decision.
func TestBlocksAreRun(t *testing.T) {
	t.Parallel()
	tests := testFunctions(t)
	used, needs := map[evidence]bool{}, 0
	for _, b := range blocks(t) {
		if b.language == "promql" || b.language == "csv" || b.language == "" {
			continue // parsed
		}
		e, ok := find(evidences(t), b)
		if !assert.True(t, ok, "%s:%d: evidence.tsv has no line for this block: %s\t%s\t%s", b.page, b.line, b.page, b.language, b.first()) {
			continue
		}
		used[e] = true
		switch e.kind {
		case "run":
			assert.True(t, tests[e.subject], "%s: there is no test %s", b.page, e.subject)
		case "needs":
			needs++
		default:
			assert.Fail(t, "neither run nor needs", e)
		}
	}
	for _, e := range evidences(t) {
		assert.True(t, used[e], "evidence.tsv: there is no such block: %v", e)
	}
	assert.Equal(t, blocksThatNeedMore, needs, "blocks that need something")
}

// blocksThatNeedMore is how many blocks need what no test has.
const blocksThatNeedMore = 41

func find(all []evidence, b block) (evidence, bool) {
	var rest evidence
	for _, e := range all {
		if e.page != b.page || e.language != b.language {
			continue
		}
		if e.first == b.first() {
			return e, true
		}
		if e.first == "*" {
			rest = e
		}
	}
	return rest, rest.page != ""
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)

// testFunctions returns the names of all tests, benchmarks and fuzz tests of the repository.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(repository(t), func(file string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		content, err := os.ReadFile(file)
		for _, m := range testFunction.FindAllStringSubmatch(string(content), -1) {
			names[m[1]] = true
		}
		return err
	}))
	return names
}
