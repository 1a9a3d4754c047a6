// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs are those whose command lines the pages have.
var programs = regexp.MustCompile(`^(sudo )?(\./)?(amd-smi|apt|apt-get|buildah|ctr|curl|dmesg|docker|dpkg|dpkg-deb|fuser|git|go|helm|journalctl|kubectl|` +
	`lspci|make|nvidia-smi|otelcol-gpu|otelgpu|podman|rocm-smi|rpm|scontrol|sha256sum|ssh|systemctl|tar|test/\S+\.sh|scripts/\S+\.sh) `)

func commandClasses(t *testing.T) []class {
	t.Helper()
	all := []class{
		{
			name:  "shell command",
			is:    func(s span) bool { return programs.MatchString(s.text) },
			check: func(s span) error { return parseShell(placeholder.ReplaceAllString(s.text, "X")) },
			good:  "kubectl get pods <name>", bad: "kubectl get 'pods",
		},
		{
			name: "target of make",
			is: func(s span) bool {
				return strings.HasPrefix(s.text, "make ") || s.page == "docs/develop/tests.md" && targetName.MatchString(s.text)
			},
			check: func(s span) error { return makeTarget(repository(t), s) },
			good:  "make check", bad: "make chek",
		},
	}
	for _, tool := range systemTools {
		if _, err := exec.LookPath(tool.name); err != nil {
			t.Logf("%s is not in PATH: its commands were only parsed", tool.name)
			continue
		}
		help := output(t, ".", tool.name, "--help")
		all = append(all, class{
			name:  "command of " + tool.name,
			is:    func(s span) bool { return strings.HasPrefix(s.text, tool.name+" -") },
			check: func(s span) error { return errors.Join(unknownFlags(s.text, help), unknownShortFlags(s.text, help)) },
			good:  tool.good, bad: tool.bad,
		})
	}
	if kubectl, err := exec.LookPath("kubectl"); err == nil {
		all = append(all, class{
			name:  "command of kubectl",
			is:    func(s span) bool { return strings.HasPrefix(s.text, "kubectl ") },
			check: func(s span) error { return kubectlCommand(kubectl, s.text) },
			good:  "kubectl -n a drain NODE --ignore-daemonsets", bad: "kubectl drain NODE --ignore-daemonset",
		})
	} else {
		t.Log("kubectl is not in PATH: its commands were only parsed")
	}
	return all
}

// systemTools are tools of the machine that the first steps of docs/operate/alerts.md use.
var systemTools = []struct{ name, good, bad string }{
	{"dmesg", "dmesg -T", "dmesg -Q"},
	{"journalctl", "journalctl -k", "journalctl -K"},
}

var shortFlag = regexp.MustCompile(`\s-([A-Za-z])\b`)

func unknownShortFlags(command, help string) error {
	for _, flag := range shortFlag.FindAllStringSubmatch(command, -1) {
		if !regexp.MustCompile(`(?m)^\s+-` + flag[1] + `\b`).MatchString(help) {
			return fmt.Errorf("no flag -%s", flag[1])
		}
	}
	return nil
}

// placeholder matches what a reader replaces, if it is not a word.
var placeholder = regexp.MustCompile(`<[^<>]+>`)

// targetName is what a target of make check is called.
var targetName = regexp.MustCompile(`^(build|generated|helm|lint|race|test)(-[a-z]+)+$`)

// makeTarget looks in the Makefile, and for the page of a directory in the Makefile of the directory.
func makeTarget(root string, s span) error {
	makefiles := []string{"Makefile", filepath.Join(filepath.Dir(s.page), "Makefile")}
	target := strings.Fields(strings.TrimPrefix(s.text, "make "))[0]
	for _, makefile := range makefiles {
		content, err := os.ReadFile(filepath.Join(root, makefile))
		if err == nil && regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(target)+`:`).Match(content) {
			return nil
		}
	}
	return fmt.Errorf("no target %s in %v", target, makefiles)
}

var longFlag = regexp.MustCompile(`(?:^|\s)(--[a-z][\w.-]*)`)

// kubectlCommand reports a command or a flag that the help of kubectl does not have.
func kubectlCommand(kubectl, text string) error {
	own, _, _ := strings.Cut(text, " -- ")
	words := strings.Fields(own)[1:]
	for len(words) > 1 && (words[0] == "-n" || words[0] == "--context") {
		words = words[2:]
	}
	help, err := exec.Command(kubectl, words[0], "--help").CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl %s --help: %w: %s", words[0], err, help)
	}
	if len(words) > 1 && strings.Contains(string(help), "Available Commands:") && regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(words[1])+` `).Match(help) {
		if help, err = exec.Command(kubectl, words[0], words[1], "--help").CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s %s --help: %w: %s", words[0], words[1], err, help)
		}
	}
	global, err := exec.Command(kubectl, "options").Output()
	if err != nil {
		return fmt.Errorf("kubectl options: %w", err)
	}
	return unknownFlags(own, string(help)+string(global))
}

func unknownFlags(command, help string) error {
	var unknown []error
	for _, flag := range longFlag.FindAllStringSubmatch(command, -1) {
		if !regexp.MustCompile(`(?m)(^|\s)-?` + strings.TrimPrefix(regexp.QuoteMeta(flag[1]), "-") + `\b[^-]`).MatchString(help) {
			unknown = append(unknown, fmt.Errorf("no flag %s", flag[1]))
		}
	}
	return errors.Join(unknown...)
}

// output returns what a program prints.
func output(t *testing.T, directory, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	printed, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, printed)
	return string(printed)
}
