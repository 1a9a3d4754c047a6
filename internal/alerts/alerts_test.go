// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

func TestRulesAreUpToDate(t *testing.T) {
	want, err := render()
	require.NoError(t, err)
	for _, name := range written {
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s: run `make rules`", name)
	}
}

// Each limit is used, and docs/operate/alerts.md has its value and source.
func TestLimitsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "### Limits and their sources\n")
	documented := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (\S+) \| GPU[^|]+ \|[^|]*\|$`).FindAllStringSubmatch(section, -1) {
		documented[row[1]] = row[2]
	}
	assert.Equal(t, limits, documented)
	for name := range limits {
		assert.Contains(t, text, `[[limit "`+name+`"]]`)
	}
	_, err = limitOf("of nothing")
	assert.Error(t, err)
}

// What programs cause themselves, tests and messages raise no alert; each other code raises one.
func TestCodes(t *testing.T) {
	rules, err := render()
	require.NoError(t, err)
	lists := func(operator string) []string {
		match := regexp.MustCompile(`hw_gpu_xid`+operator+`"([0-9|]+)"`).FindAllStringSubmatch(string(rules), -1)
		require.Len(t, match, 2, "the two halves of the rule")
		require.Equal(t, match[0][1], match[1][1])
		return strings.Split(match[0][1], "|")
	}
	alarm, notMinor := lists("=~"), lists("!~")
	for _, code := range []string{"48", "74", "79", "94", "95", "109", "119", "145"} {
		assert.Contains(t, alarm, code)
	}
	for _, code := range []string{"13", "14", "31", "43", "45", "68", "69", "83", "106", "137", "154", "162"} {
		assert.NotContains(t, alarm, code)
		assert.Contains(t, notMinor, code)
	}
	for _, code := range []string{"8", "32", "63", "92", "164", "999"} {
		assert.NotContains(t, alarm, code)
		assert.NotContains(t, notMinor, code)
	}
	assert.Subset(t, notMinor, alarm, "one alert for one XID")
}
