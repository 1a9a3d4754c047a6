// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	maxProse = 40_000 // words
	maxCells = 25_000 // words in tables
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	anyWord     = regexp.MustCompile(`[^\s|]*[A-Za-z0-9][^\s|]*`)
)

// Readers must find the line that they need. To add to the documentation, remove as much.
func TestLength(t *testing.T) {
	t.Parallel()
	var prose, cells int
	for _, p := range pages(t) {
		if p.path != "README.md" && p.path != "CONTRIBUTING.md" && !strings.HasPrefix(p.path, "docs/") {
			continue
		}
		inProse, inCells := length(string(p.source))
		prose += inProse
		cells += inCells
	}
	assert.LessOrEqual(t, prose, maxProse, "words of prose in docs, README.md and CONTRIBUTING.md")
	assert.LessOrEqual(t, cells, maxCells, "words in tables of docs, README.md and CONTRIBUTING.md")
}

// length counts the words of prose and of tables. Fenced blocks do not count.
func length(source string) (prose, cells int) {
	for line := range strings.Lines(fencedBlock.ReplaceAllString(source, "")) {
		words := len(anyWord.FindAllString(line, -1))
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			cells += words
		} else {
			prose += words
		}
	}
	return prose, cells
}

func TestLengthOfPage(t *testing.T) {
	t.Parallel()
	prose, cells := length("# A page\n\nTwo words – [here](other.md).\n\n| a | b c |\n|---|---|\n\n```sh\nnot counted\n```\n")
	assert.Equal(t, 5, prose)
	assert.Equal(t, 3, cells)
}
