// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// terminal is a pseudo-terminal in which otelgpu runs, with an emulator that draws what it writes.
type terminal struct {
	t        *testing.T
	cmd      *exec.Cmd
	pty      *os.File // of the emulator's side
	tty      *os.File // of the program's side
	emulator vt.MockTerm
	before   unix.Termios
	ended    chan error

	mu     sync.Mutex // of what is written and of the emulator's screen
	raw    bytes.Buffer
	width  int
	height int
}

// startTerminal runs otelgpu as a person does.
func startTerminal(t *testing.T, width, height int, env []string, args ...string) *terminal {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	require.NoError(t, unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(int(pty.Fd()), true)) // Fd has made it blocking: Close would not end a read
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	term := &terminal{
		t: t, pty: os.NewFile(uintptr(dup(t, pty)), "pty"), tty: tty, ended: make(chan error, 1), width: width, height: height,
		emulator: vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)}),
	}
	require.NoError(t, pty.Close())
	term.before = term.modes()
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}))
	require.NoError(t, term.emulator.Start())
	var running sync.WaitGroup
	running.Go(term.show)
	running.Go(term.reply)
	term.cmd = exec.Command(os.Args[0], args...)
	term.cmd.Env = append(append(os.Environ(), asOtelgpu+"=1", "TERM=xterm-256color", "COLORTERM=", "NO_COLOR=", "LANG=C.UTF-8", "LC_ALL="), env...)
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = tty, tty, tty
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, term.cmd.Start())
	go func() { term.ended <- term.cmd.Wait() }()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill()
		_ = tty.Close()
		_ = term.pty.Close()
		_ = term.emulator.Stop()
		running.Wait()
	})
	return term
}

// dup returns a descriptor that Go polls: the first was opened before it could be.
func dup(t *testing.T, f *os.File) int {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fd, true))
	return fd
}

// show draws what the program writes.
func (term *terminal) show() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := term.pty.Read(buffer)
		if n > 0 {
			term.mu.Lock()
			term.raw.Write(buffer[:n])
			_, err := term.emulator.Write(bytes.Clone(buffer[:n]))
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// reply sends the emulator's answers to the program's questions.
func (term *terminal) reply() {
	buffer := make([]byte, 4096)
	for {
		n, err := term.emulator.Read(buffer)
		if err != nil {
			return
		}
		if _, err := term.pty.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// written is everything that the program has written.
func (term *terminal) written() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.raw.String()
}

// Around each frame the program starts and ends a synchronized update.
var beginFrame, endFrame = []byte("\x1b[?2026h"), []byte("\x1b[?2026l")

// frame is what is on the screen, and whether it is a whole frame: the program draws one in parts.
func (term *terminal) frame() (screen string, whole bool) {
	term.mu.Lock()
	defer term.mu.Unlock()
	lines := make([]string, term.height)
	for y := range lines {
		var b strings.Builder
		for x := 0; x < term.width; {
			cell := term.emulator.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			if cell.C == "" {
				cell.C = " "
			}
			b.WriteString(cell.C)
			x += max(1, cell.W)
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	written := term.raw.Bytes()
	return strings.Join(lines, "\n"), bytes.LastIndex(written, endFrame) >= bytes.LastIndex(written, beginFrame)
}

func (term *terminal) screen() string {
	screen, _ := term.frame()
	return screen
}

// modes are the settings of the terminal.
func (term *terminal) modes() unix.Termios {
	term.t.Helper()
	modes, err := unix.IoctlGetTermios(int(term.tty.Fd()), unix.TCGETS)
	require.NoError(term.t, err)
	return *modes
}

// press sends keys.
func (term *terminal) press(keys string) {
	term.t.Helper()
	_, err := term.pty.WriteString(keys)
	require.NoError(term.t, err)
}

// resize changes the size of the terminal's window.
func (term *terminal) resize(width, height int) {
	term.t.Helper()
	term.width, term.height = width, height
	term.emulator.SetSize(vt.Coord{X: vt.Col(width), Y: vt.Row(height)})
	require.NoError(term.t, unix.IoctlSetWinsize(int(term.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}))
}

// sees waits until the screen satisfies a condition.
func (term *terminal) sees(subject string, condition func(screen string) bool) string {
	term.t.Helper()
	end := time.Now().Add(patience)
	for {
		screen, whole := term.frame()
		if whole && condition(screen) {
			return screen
		}
		if time.Now().After(end) {
			require.Fail(term.t, "not on the screen: "+subject, "%s\n\nwritten: %q", screen, tail(term.written()))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func tail(text string) string { return text[max(0, len(text)-300):] }

// shows waits until all texts are on the screen.
func (term *terminal) shows(texts ...string) string {
	term.t.Helper()
	return term.sees(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// hides waits until a text is gone from the screen.
func (term *terminal) hides(text string) string {
	term.t.Helper()
	return term.sees("no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// end waits for the program's end and returns its exit code.
func (term *terminal) end() int {
	term.t.Helper()
	select {
	case <-term.ended:
	case <-time.After(patience):
		require.Fail(term.t, "the program has not ended", term.screen())
	}
	return term.cmd.ProcessState.ExitCode()
}

// restored requires that the terminal is as it was: its settings, the cursor, and what was on the screen before.
func (term *terminal) restored() {
	term.t.Helper()
	require.Equal(term.t, term.before, term.modes())
	for _, sequence := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?7h"} {
		require.Eventually(term.t, func() bool { return strings.Contains(term.written(), sequence) }, patience, 10*time.Millisecond, "%q", sequence)
	}
}
