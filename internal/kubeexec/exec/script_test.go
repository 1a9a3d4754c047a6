// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
)

// shells are the shells installed on this machine, by name, with the command that starts them.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the scripts run in Linux containers")
	}
	got := map[string][]string{}
	for name, argv := range map[string][]string{
		"dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}, "sh": {"sh"},
	} {
		if path, err := exec.LookPath(argv[0]); err == nil {
			got[name] = append([]string{path}, argv[1:]...)
		}
	}
	require.NotEmpty(t, got, "no shell")
	return got
}

// bin returns a directory with an nvidia-smi of the given text and links to the other programs.
func bin(t *testing.T, smi string, others ...string) string {
	t.Helper()
	dir := t.TempDir()
	if smi != "" {
		commandtest.WriteScript(t, filepath.Join(dir, "nvidia-smi"), smi)
	}
	for _, name := range others {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

// runIn runs an exec's argv in a shell, with only PATH in its environment.
func runIn(t *testing.T, shell []string, path string, argv []string) (stdout, stderr []byte) {
	t.Helper()
	require.Equal(t, []string{"sh", "-c"}, argv[:2])
	cmd := shellCommand(t, shell, path, argv)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Logf("%v, %s", err, errOut.String())
	}
	return out.Bytes(), errOut.Bytes()
}

// shellCommand prepares an exec's argv to be run in a shell, with only PATH in its environment.
func shellCommand(t *testing.T, shell []string, path string, argv []string) *exec.Cmd {
	t.Helper()
	if err := os.Symlink(shell[0], filepath.Join(path, "sh")); !os.IsExist(err) { // with which the scripts continue
		require.NoError(t, err)
	}
	argv = append(append([]string{}, shell...), argv[1:]...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + path}
	return cmd
}

func smiCommand(args ...string) command.Command {
	return command.Command{Tool: command.NvidiaSMI, Args: args}
}

const talkative = `case $1 in
-L) printf 'one\n\ntwo' ; echo problem >&2 ; exit 9;;
env) echo "$LC_ALL $NVSMI_SHOW_ALL_DEVICES $#";;
none) ;;
*) for a; do echo "<$a>"; done;;
esac
`

func TestBatchScript(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			dir := bin(t, talkative, "timeout", "date")
			commands := []command.Command{smiCommand("-L"), smiCommand("env"), smiCommand("none"), smiCommand("--query-gpu=a,b.c", "--format=csv", "-x_9")}
			separator := newSeparator()
			stdout, stderr := runIn(t, shell, dir, batchArgv(separator, time.Minute, commands))
			segments, rest, err := splitBatch(separator, stdout, stderr)
			require.NoError(t, err, "%s %s", stdout, stderr)
			require.Len(t, segments, 4, "%s %s", stdout, stderr)
			assert.Equal(t, "one\n\ntwo", string(segments[0].stdout), "byte by byte")
			assert.Equal(t, "problem\n", string(segments[0].stderr))
			assert.Equal(t, 9, segments[0].code)
			assert.Equal(t, "C 1 1\n", string(segments[1].stdout), "the tool's environment")
			assert.Empty(t, segments[1].stderr)
			assert.Empty(t, segments[2].stdout)
			assert.Equal(t, 0, segments[2].code)
			assert.Equal(t, "<--query-gpu=a,b.c>\n<--format=csv>\n<-x_9>\n", string(segments[3].stdout))
			assert.Empty(t, rest.stdout)
		})
	}
}

func TestBatchScriptWithoutTool(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			separator := newSeparator()
			stdout, stderr := runIn(t, shell, bin(t, "", "timeout", "date"), batchArgv(separator, time.Minute, []command.Command{smiCommand("-L")}))
			segments, _, err := splitBatch(separator, stdout, stderr)
			require.NoError(t, err)
			require.Len(t, segments, 1)
			assert.Equal(t, codeNotFound, segments[0].code)
			assert.Contains(t, string(segments[0].stderr), "nvidia-smi")
		})
	}
}

func TestBatchScriptWithoutTimeout(t *testing.T) {
	for name, shell := range shells(t) {
		if name == "busybox" {
			continue // its sh has both built in
		}
		for _, have := range []string{"timeout", "date"} {
			t.Run(name+" with "+have, func(t *testing.T) {
				separator := newSeparator()
				stdout, stderr := runIn(t, shell, bin(t, talkative, have), batchArgv(separator, time.Minute, []command.Command{smiCommand("-L")}))
				_, _, err := splitBatch(separator, stdout, stderr)
				require.ErrorIs(t, err, errNoTimeout, "%s %s", stdout, stderr)
			})
		}
	}
}

// A tool that hangs is killed, and the commands after it have no time left. Everything ends by itself.
func TestBatchScriptHung(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := bin(t, "[ \"$1\" = -L ] && { echo begun; exec sleep 600; }\necho done\n", "timeout", "date", "sleep")
			var segments []segment
			hung := func() bool { return len(segments) == 2 && len(segments[1].stdout) > 0 }
			for limit := 3 * time.Second; !hung() && limit < time.Minute; limit *= 2 { // until a busy machine has begun both in that time
				separator := newSeparator()
				stdout, stderr := runIn(t, shell, dir, batchArgv(separator, limit, []command.Command{smiCommand("-q"), smiCommand("-L"), smiCommand("-x")}))
				segments, _, _ = splitBatch(separator, stdout, stderr)
			}
			require.Len(t, segments, 2)
			assert.Equal(t, "done\n", string(segments[0].stdout))
			assert.Equal(t, "begun\n", string(segments[1].stdout))
			assert.Contains(t, []int{codeKilled, codeTimedOut}, segments[1].code)
		})
	}
}

// When an exec is cut off, the output of its processes is not read. They end nevertheless.
func TestScriptsEndUnread(t *testing.T) {
	for name, shell := range shells(t) {
		for kind, argv := range map[string][]string{
			"batch":     batchArgv(newSeparator(), 10*time.Second, []command.Command{smiCommand("-q"), smiCommand("-L")}),
			"processes": processArgv(newSeparator(), true, slices.Repeat([]int64{int64(os.Getpid())}, 2000)),
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir := bin(t, "while :;do echo 0123456789abcdef;done\n", "timeout", "date")
				cmd := shellCommand(t, shell, dir, argv)
				reader, writer, err := os.Pipe()
				require.NoError(t, err)
				defer func() { _ = reader.Close() }() // only when it is over: an earlier close would end a script that writes
				cmd.Stdout = writer
				require.NoError(t, cmd.Start())
				require.NoError(t, writer.Close())
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case err := <-ended:
					require.Error(t, err, "it was killed: the pipe is full")
				case <-time.After(time.Minute):
					_ = cmd.Process.Kill()
					t.Error("it waits for good")
				}
			})
		}
	}
}

// The script text that a shell reads is always the same. The words of the commands are its parameters.
func TestBatchArgv(t *testing.T) {
	argv := batchArgv("0123", 8*time.Second, []command.Command{smiCommand("-q", "-x"), smiCommand("pmon")})
	assert.Equal(t, []string{
		"sh", "-c", batchScript, "gpureceiver", "0123", "8", "LC_ALL=C", "NVSMI_SHOW_ALL_DEVICES=1", "-",
		"3", "nvidia-smi", "-q", "-x", "2", "nvidia-smi", "pmon",
	}, argv)
	assert.NotContains(t, batchBody+processBody, "'", "both stand between them")
	assert.Equal(t, []string{"sh", "-c", processScript, "gpureceiver", "0123", "1", "1.22"}, processArgv("0123", true, []int64{1, 22}))
}

func TestCheck(t *testing.T) {
	require.NoError(t, check(command.NvidiaSMI, []command.Command{smiCommand("--query-gpu=clocks_event_reasons.active,uuid", "-x", "1")}))
	for _, word := range []string{"", "a b", "a;b", "$x", "`x`", "a\nb", "'", `"`, "a|b", "ä", "(", strings.Repeat("a", maxWord+1)} {
		require.Error(t, check(command.NvidiaSMI, []command.Command{smiCommand("-q", word)}), word)
	}
	require.Error(t, check(command.NvidiaSMI, []command.Command{{Tool: "rm", Args: []string{"-rf"}}}))
	require.Error(t, check(command.AMDSMI, []command.Command{smiCommand("-q")}))
}

func TestSplitBatchCutOff(t *testing.T) {
	const whole = "5e b\nfirst\n5e 0\nsecond\n5e 1\n"
	const errors = "e1\n5e\ne2\n5e\n"
	segments, rest, err := splitBatch("5e", []byte(whole), []byte(errors))
	require.NoError(t, err)
	require.Len(t, segments, 2)
	assert.Equal(t, segment{stdout: []byte("first"), stderr: []byte("e1"), code: 0}, segments[0])
	assert.Equal(t, segment{stdout: []byte("second"), stderr: []byte("e2"), code: 1}, segments[1])
	assert.Empty(t, rest.stdout)
	for n := range len(whole) {
		segments, rest, err := splitBatch("5e", []byte(whole[:n]), nil)
		switch {
		case n < 5:
			require.ErrorIs(t, err, errNoScript)
		case n < 16:
			assert.Empty(t, segments, whole[:n])
			assert.Regexp(t, `^(first(\n(5(e( 0?)?)?)?)?|fir?s?|f?)$`, string(rest.stdout))
		case n < len(whole):
			require.Len(t, segments, 1, whole[:n])
		}
	}
	for _, bad := range []string{"", "\n", "5e\n", "5e x\n", "sh: 1: Syntax error\n", "5f b\n"} {
		_, _, err := splitBatch("5e", []byte(bad), nil)
		require.ErrorIs(t, err, errNoScript, bad)
	}
	segments, _, err = splitBatch("5e", []byte("5e b\na\n5e 256\n"), nil)
	require.NoError(t, err)
	assert.Empty(t, segments, "no exit code")
}

func FuzzSplitBatch(f *testing.F) {
	f.Add("5e", []byte("5e b\nfirst\n5e 0\nsecond\n5e 1\n"), []byte("e1\n5e\ne2\n5e\n"))
	f.Add("5e", []byte("5e n\n"), []byte{})
	f.Fuzz(func(t *testing.T, separator string, stdout, stderr []byte) {
		segments, rest, err := splitBatch(separator, stdout, stderr)
		total := len(rest.stdout)
		for _, s := range segments {
			total += len(s.stdout)
			if s.code < 0 || s.code > 255 {
				t.Fatalf("exit code %d", s.code)
			}
		}
		if total > len(stdout) || err != nil && len(segments) > 0 {
			t.Fatalf("%d segments, %d bytes of %d, %v", len(segments), total, len(stdout), err)
		}
	})
}
