// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// batchScript runs commands one after the other. Its parameters: a separator, the seconds that all of them may take,
// NAME=value pairs for the environment, "-", and for each command the number of its words and the words. What it prints:
//
//	<separator> b
//	…what the first command prints…
//	<separator> <exit code>
//
// and so on; after each command the separator alone on stderr, too. Without timeout or date it prints "<separator> n" and
// runs nothing: an exec that is cut off leaves its processes running, so a tool is run only if it ends by itself. KILL
// without a grace period is what every timeout(1) has, also BusyBox's.
//
// The script itself runs under timeout as well: when its output is not read any more and exceeds the pipe's buffer, it would
// wait forever. It has one second more than the tools, still less than the exec.
//
// The container's own PATH comes first, then the directories of node images and of the vendors' installers.
const batchScript = `command -v timeout>/dev/null&&command -v date>/dev/null||{ echo "$1 n";exit;}
exec timeout -s KILL $(($2+1)) sh -c '` + batchBody + `' "$0" "$@"`

// batchBody is between single quotes, so it must not contain any.
const batchBody = `s=$1;t=$2;shift 2
while [ "$1" != - ];do export "$1";shift;done;shift
export PATH="$PATH:/usr/local/nvidia/bin:/opt/rocm/bin"
[ -d /usr/local/nvidia/lib64 ]&&export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64"
echo "$s b"
e=$(($(date +%s)+t))
while [ $# -gt 0 ];do
c=;i=2
while [ $i -le $(($1+1)) ];do c="$c \"\${$i}\"";i=$((i+1));done
r=$((e-$(date +%s)))
[ $r -gt $t ]&&r=$t
[ $r -lt 1 ]&&exit
eval "timeout -s KILL $r$c"</dev/null
printf "\n%s %s\n" "$s" $?
printf "\n%s\n" "$s">&2
shift $(($1+1))
done`

// scriptName is $0 of the scripts, by which a list of processes shows them.
const scriptName = "gpureceiver"

// Exit codes of sh(1) and timeout(1) that are not the command's own.
const (
	codeTimedOut      = 124
	codeNotExecutable = 126
	codeNotFound      = 127
	codeKilled        = 128 + 9
)

// newSeparator returns a line that no tool can predict.
func newSeparator() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// batchArgv returns the arguments of the exec that runs checked commands.
func batchArgv(separator string, limit time.Duration, commands []command.Command) []string {
	argv := []string{"sh", "-c", batchScript, scriptName, separator, seconds(limit)}
	argv = append(argv, commands[0].Tool.Environment()...)
	argv = append(argv, "-")
	for _, c := range commands {
		argv = append(argv, strconv.Itoa(1+len(c.Args)), string(c.Tool))
		argv = append(argv, c.Args...)
	}
	return argv
}

func seconds(d time.Duration) string { return strconv.Itoa(max(1, int(d/time.Second))) }

// maxWord bounds a word of a command: the fields of --query-gpu are one.
const maxWord = 4096

// check enforces what the other packages promise: commands of the tool, of words that are constants. It admits only characters
// that have no meaning in a shell.
func check(tool command.Tool, commands []command.Command) error {
	for _, c := range commands {
		if c.Tool != tool {
			return fmt.Errorf("kubernetes_exec: asked to run %q, not %s", c.Tool, tool)
		}
		for _, arg := range c.Args {
			if !plainWord(arg) {
				return fmt.Errorf("kubernetes_exec: asked to run %s with the argument %q", tool, arg)
			}
		}
	}
	return nil
}

func plainWord(s string) bool {
	if s == "" || len(s) > maxWord {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '=', c == ',', c == '.':
		default:
			return false
		}
	}
	return true
}

// Errors of splitBatch.
var (
	errNoScript  = errors.New("sh did not run the script")
	errNoTimeout = errors.New("the container contains no timeout or date program")
)

// segment is the output of one command of a batch.
type segment struct {
	stdout, stderr []byte
	code           int
}

// splitBatch splits the output of a batch. rest is the output of a command that has not ended, or empty.
func splitBatch(separator string, stdout, stderr []byte) (segments []segment, rest segment, err error) {
	mark := []byte(separator + " ")
	head, after, found := bytes.Cut(stdout, []byte("\n"))
	switch {
	case !found || !bytes.HasPrefix(head, mark):
		return nil, rest, errNoScript
	case bytes.Equal(head[len(mark):], []byte("n")):
		return nil, rest, errNoTimeout
	case !bytes.Equal(head[len(mark):], []byte("b")):
		return nil, rest, errNoScript
	}
	mark = append([]byte{'\n'}, mark...)
	errMark := []byte("\n" + separator + "\n")
	for {
		out, tail, found := bytes.Cut(after, mark)
		message, errTail, _ := bytes.Cut(stderr, errMark)
		if !found {
			return segments, segment{stdout: out, stderr: message}, nil
		}
		number, next, ended := bytes.Cut(tail, []byte("\n"))
		code, err := strconv.Atoi(string(number))
		if !ended || err != nil || code < 0 || code > 255 {
			return segments, segment{stdout: out, stderr: message}, nil
		}
		segments = append(segments, segment{stdout: out, stderr: message, code: code})
		after, stderr = next, errTail
	}
}
