// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// FeatureGates are the ones that shipped deployments start the collector with.
const FeatureGates = "--feature-gates=+extension.healthcheck.useComponentStatus"

// Options say what to start.
type Options struct {
	Binary string   // the program
	Args   []string // its arguments
	Dir    string   // its working directory
	Env    []string // added to this process's environment

	// TimerSlack is how late a thread may be woken up, as systemd's TimerSlackNSec sets it; 0: as usual.
	TimerSlack time.Duration
}

// Process is a running collector, or another program that is ended by an interrupt.
type Process struct {
	cmd   *exec.Cmd
	out   output
	ended chan struct{}
}

// Collector starts the collector with a configuration, which is written to a file in the working directory.
func Collector(o Options, config string) (*Process, error) {
	path := filepath.Join(o.Dir, "collector.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	o.Args = append(o.Args, FeatureGates, "--config", path)
	return Start(o)
}

// Start starts a program.
func Start(o Options) (*Process, error) {
	p := &Process{ended: make(chan struct{})}
	p.cmd = exec.Command(o.Binary, o.Args...)
	p.cmd.Dir = o.Dir
	p.cmd.Env = append(os.Environ(), o.Env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	// It ends with this process, however that ends; and Ctrl-C in a terminal does not reach it directly.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := startWithSlack(p.cmd, o.TimerSlack); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	go func() {
		_ = p.cmd.Wait() // the state tells how it ended
		close(p.ended)
	}()
	return p, nil
}

// startWithSlack starts a program whose threads have a slack of that size: it is that of the thread which starts it.
func startWithSlack(cmd *exec.Cmd, slack time.Duration) error {
	if slack == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0); err != nil {
		return fmt.Errorf("set the timer slack: %w", err)
	}
	err := cmd.Start()
	return errors.Join(err, unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)) // back to what it was
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output is what it has written to standard output and standard error.
func (p *Process) Output() string { return p.out.String() }

// Running tells whether it has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// errStillRunning says that an interrupt did not end it.
var errStillRunning = errors.New("it did not end on an interrupt, and was killed")

// Interrupt ends it as Ctrl-C would, and returns its exit code and how long it took. It waits for no longer than patience.
func (p *Process) Interrupt(patience time.Duration) (code int, took time.Duration, err error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && p.Running() {
		return -1, 0, err
	}
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), time.Since(began), nil
	case <-time.After(patience):
		p.Kill()
		return -1, patience, errStillRunning
	}
}

// Wait waits for it to end by itself and returns its exit code.
func (p *Process) Wait(patience time.Duration) (int, error) {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		p.Kill()
		return -1, errStillRunning
	}
}

// Kill ends it at once, if it is still running.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Complaints are the lines of its log that are a warning or worse.
func (p *Process) Complaints() []string {
	var found []string
	for line := range strings.Lines(p.Output()) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && fields[1] != "info" && fields[1] != "debug" ||
			strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// output collects what a process writes while others read it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// FreeAddress is an address of this machine that nobody listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}
