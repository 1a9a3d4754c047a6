// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// flagClasses takes the flags from the help of the programs.
func flagClasses(t *testing.T) []class {
	t.Helper()
	helps := otelgpuHelps(t)
	every := strings.Join(slices.Collect(maps.Values(helps)), "\n")
	return []class{
		{
			name:  "command of otelgpu",
			is:    func(s span) bool { return otelgpuCall.MatchString(s.text) },
			check: func(s span) error { return otelgpuCommand(helps, otelgpuCall.FindStringSubmatch(s.text)[1]) },
			good:  "kubectl exec POD -- /usr/local/bin/otelgpu doctor --compare", bad: "otelgpu top --compare",
		},
		{
			name: "command of otelcol-gpu",
			is:   func(s span) bool { return collectorCall.MatchString(s.text) },
			check: func(s span) error {
				call := collectorCall.FindStringSubmatch(s.text)[1]
				command := strings.Fields(call)[0]
				if !strings.HasPrefix(command, "-") && !slices.Contains(collectorCommands, command) {
					return fmt.Errorf("no command %s", command)
				}
				return unknownFlags(call, strings.Join(collectorFlags, " ")+" ")
			},
			good: "otelcol-gpu validate --config FILE", bad: "otelcol-gpu validate --configuration FILE",
		},
		{
			name:  "flag",
			is:    func(s span) bool { return flag.MatchString(s.text) },
			check: func(s span) error { return unknownFlags(s.text, every+strings.Join(collectorFlags, " ")+" ") },
			good:  "--compare", bad: "--compared",
		},
	}
}

// The commands and flags of otelcol-gpu, which is not built for this test.
var (
	collectorCommands = []string{"components", "print-config", "validate"}
	collectorFlags    = []string{"--config", "--feature-gates", "--set", "--version"}
)

// The built collector has the commands and flags that the documentation may have.
func TestCollectorCommands(t *testing.T) {
	t.Parallel()
	collector := os.Getenv("OTELCOL_GPU")
	if collector == "" {
		t.Skip("OTELCOL_GPU does not name the built collector; make test-docs does")
	}
	help := output(t, ".", collector, "--help")
	for _, name := range slices.Concat(collectorCommands, collectorFlags) {
		assert.Regexp(t, `(?m)^  +(-v, )?`+name+` `, help)
	}
}

var (
	flag          = regexp.MustCompile(`^--[a-z][a-z.-]+([ =].*)?$`)
	otelgpuCall   = regexp.MustCompile(`(?:^|/|\s)otelgpu ([-\w].*)$`)
	collectorCall = regexp.MustCompile(`(?:^|/|\s)otelcol-gpu (--.*|[a-z][a-z-]*(?: .*)?)$`)
)

// otelgpuHelps builds otelgpu and returns its help by command, and its own under "".
func otelgpuHelps(t *testing.T) map[string]string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "otelgpu")
	output(t, repository(t), "go", "build", "-o", program, "./cmd/otelgpu")
	helps := map[string]string{"": output(t, ".", program, "-h")}
	for _, line := range regexp.MustCompile(`(?m)^  otelgpu ([a-z]+) `).FindAllStringSubmatch(helps[""], -1) {
		helps[line[1]] = output(t, ".", program, line[1], "-h")
	}
	require.Greater(t, len(helps), 3)
	return helps
}

// otelgpuCommand checks what follows otelgpu.
func otelgpuCommand(helps map[string]string, call string) error {
	words := strings.Fields(call)
	if words[0] == "--version" || words[0] == "-h" || strings.ToUpper(words[0]) == words[0] {
		return nil
	}
	help, ok := helps[words[0]]
	if !ok {
		return fmt.Errorf("no command %s", words[0])
	}
	if words[0] == "get" && len(words) > 1 && !strings.HasPrefix(words[1], "-") && !regexp.MustCompile(`(?i)\b`+words[1]+`\b`).MatchString(helps[""]) {
		return fmt.Errorf("no resource %s", words[1])
	}
	return unknownFlags(call, help)
}
