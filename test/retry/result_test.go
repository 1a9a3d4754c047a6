// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRun runs a module of its own, whose tests fail in all ways that matter.
func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		code  string
		fails bool
	}{
		"passes":      {"func TestA(t *testing.T) {}", false},
		"flaky":       {"func TestA(t *testing.T) { t.Run(`sub`, func(t *testing.T) { if first() { t.Fatal(`at first`) } }) }", false},
		"fails":       {"func TestA(t *testing.T) { t.Fatal(`always`) }", true},
		"panic":       {"func TestA(t *testing.T) { if first() { panic(`at first`) } }", true},
		"fuzz":        {"func FuzzA(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, _ int) { if first() { t.Fatal(`at first`) } }) }", true},
		"leak":        {"func TestMain(m *testing.M) { if m.Run(); first() { println(`goleak: found unexpected goroutines`); os.Exit(1) } }", true},
		"no compiler": {"func TestA(t *testing.T) { undefined() }", true},
		"many": {
			"func TestA(t *testing.T) { t.Fail() }; func TestB(t *testing.T) { t.Fail() }; func TestC(t *testing.T) { t.Fail() }\n" +
				"func TestD(t *testing.T) { t.Fail() }; func TestE(t *testing.T) { t.Fail() }; func TestF(t *testing.T) { t.Fail() }", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/a\n\ngo 1.26\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"+
				"// first reports whether this is the first run.\nfunc first() bool {\n\t_, err := os.Stat(`ran`)\n\t_ = os.WriteFile(`ran`, nil, 0o600)\n\treturn err != nil\n}\n\n"+
				test.code+"\n"), 0o600))
			t.Chdir(dir)
			t.Setenv("GOWORK", "off")
			var out strings.Builder
			err := run([]string{"-count=1", "./..."}, &out)
			if test.fails {
				require.Error(t, err)
			} else {
				require.NoError(t, err, out.String())
			}
			assert.Equal(t, name == "flaky", strings.Contains(out.String(), "\nflaky: example.org/a.TestA\n"), out.String())
		})
	}
}

// TestRaceIsFinal needs no race detector: the output is the one that it prints.
func TestRaceIsFinal(t *testing.T) {
	assert.True(t, isFinal("==================\nWARNING: DATA RACE\nRead at 0x00c000"))
	assert.True(t, isFinal("    testing.go:1617: race detected during execution of test\n"))
	assert.False(t, isFinal("--- FAIL: TestA (0.00s)\n    a_test.go:3: not yet\n"))
}
