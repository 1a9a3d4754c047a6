// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leftOut represents omitted parts in the documentation: as the last entry of a list, as a field of an object, at the end of a line.
const leftOut = "…"

// example is a request and its answer in the documentation.
type example struct {
	target  string
	headers []string
	kind    string // of the answer: json, csv, text
	answer  string
}

func examples(t *testing.T) []example {
	t.Helper()
	var all []example
	for _, page := range []string{"api.md", "api-clients.md"} {
		all = append(all, examplesOf(t, "../../../docs/reference/"+page)...)
	}
	return all
}

func examplesOf(t *testing.T, page string) []example {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var all []example
	blocks := regexp.MustCompile("(?s)```http\n(.*?)\n```\n\n```(json|csv|text)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, strings.Count(string(text), "```http\n"), "a request without answer")
	require.NotEmpty(t, blocks, page)
	for _, block := range blocks {
		lines := strings.Split(block[1], "\n")
		e := example{target: strings.TrimPrefix(lines[0], "GET "), kind: block[2], answer: block[3]}
		for _, line := range lines[1:] {
			name, value, _ := strings.Cut(line, ": ")
			e.headers = append(e.headers, name, value)
		}
		all = append(all, e)
	}
	return all
}

// Each example of the documentation is what the sample fleet answers.
func TestDocumentedExamples(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(e.target, func(t *testing.T) {
			if e.kind == "text" {
				assert.Equal(t, e.answer, firstEvent(t, e.target))
				return
			}
			w := ask(t, sampleHandler(), http.MethodGet, e.target, e.headers...)
			if e.kind == "csv" {
				assert.Equal(t, http.StatusOK, w.Code)
				compareLines(t, e.answer, w.Body.String())
				return
			}
			var want, got any
			require.NoError(t, json.Unmarshal([]byte(e.answer), &want))
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			assert.Equal(t, documentedStatus(want), w.Code)
			assert.Empty(t, difference("answer", want, got), "%s", w.Body)
		})
	}
}

// The commands of the documentation ask for what the API has.
func TestDocumentedRequests(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/api.md")
	require.NoError(t, err)
	commands := regexp.MustCompile("```sh\ncurl http://127.0.0.1:9410(/.*)\n```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, commands)
	require.Len(t, commands, strings.Count(string(text), "```sh\n"))
	for _, command := range commands {
		assert.Equal(t, http.StatusOK, ask(t, sampleHandler(), http.MethodGet, command[1]).Code, command[0])
	}
}

// Every path of the document has an example in the documentation.
func TestEveryPathHasAnExample(t *testing.T) {
	all := examples(t)
	for path := range load(t, false).Paths.Map() {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `[^/?]+`) + `(\?.*)?$`)
		ok := false
		for _, e := range all {
			ok = ok || pattern.MatchString(e.target)
		}
		assert.True(t, ok, path)
	}
}

// documentedStatus returns the status of a problem, 200 of other answers.
func documentedStatus(answer any) int {
	if problem, ok := answer.(map[string]any); ok {
		if status, ok := problem["status"].(float64); ok {
			return int(status)
		}
	}
	return http.StatusOK
}

// difference returns the place at which an answer differs from the wanted one; empty if it does not.
func difference(place string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return place + ": no object"
		}
		_, more := want[leftOut]
		for name, v := range want {
			if name == leftOut {
				continue
			}
			if _, ok := got[name]; !ok {
				return fmt.Sprintf("%s has no %s", place, name)
			}
			if d := difference(place+"."+name, v, got[name]); d != "" {
				return d
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok && !more {
				return fmt.Sprintf("%s has %s", place, name)
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok {
			return place + ": no list"
		}
		if n := len(want); n > 0 && want[n-1] == leftOut {
			want, got = want[:n-1], got[:min(n-1, len(got))]
		}
		if len(want) != len(got) {
			return fmt.Sprintf("%s has %d entries, not %d", place, len(got), len(want))
		}
		for i := range want {
			if d := difference(fmt.Sprintf("%s[%d]", place, i), want[i], got[i]); d != "" {
				return d
			}
		}
	default:
		if want != got {
			return fmt.Sprintf("%s: %v, not %v", place, got, want)
		}
	}
	return ""
}

func compareLines(t *testing.T, want, got string) {
	t.Helper()
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	require.Len(t, gotLines, len(wantLines))
	for i := range wantLines {
		begin, cut := strings.CutSuffix(wantLines[i], leftOut)
		if cut {
			assert.True(t, strings.HasPrefix(gotLines[i], begin), gotLines[i])
		} else {
			assert.Equal(t, wantLines[i], gotLines[i])
		}
	}
}

// firstEvent returns the first event of a stream, without its retry time.
func firstEvent(t *testing.T, target string) string {
	t.Helper()
	server := httptest.NewServer(sampleHandler())
	defer server.Close()
	answer, err := server.Client().Get(server.URL + target)
	require.NoError(t, err)
	defer answer.Body.Close()
	var event strings.Builder
	for lines := bufio.NewScanner(answer.Body); lines.Scan() && lines.Text() != ""; {
		if !strings.HasPrefix(lines.Text(), "retry:") {
			event.WriteString(lines.Text() + "\n")
		}
	}
	return event.String()
}

// What the comparison must notice.
func TestDifference(t *testing.T) {
	for want, got := range map[string]string{
		`{"a": 1}`: `{"a": 2}`, `{"b": 1}`: `{}`, `{}`: `{"a": 1}`, `[1]`: `[1, 2]`, `[1, 2]`: `[1]`, `[1, 2, "…"]`: `[1]`, `null`: `0`, `{"c": {}}`: `{"c": []}`,
		`{"d": 1, "…": "…"}`: `{"e": 1}`,
	} {
		var w, g any
		require.NoError(t, json.Unmarshal([]byte(want), &w))
		require.NoError(t, json.Unmarshal([]byte(got), &g))
		assert.NotEmpty(t, difference("answer", w, g), "%s %s", want, got)
		assert.Empty(t, difference("answer", w, w), want)
	}
}
