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

// FeatureGates are the feature gates with which shipped deployments start the collector.
const FeatureGates = "--feature-gates=+extension.healthcheck.useComponentStatus"

// Options defines what to start.
type Options struct {
	Binary string   // the program
	Args   []string // its arguments
	Dir    string   // its working directory
	Env    []string // added to this process's environment

	// TimerSlack is the longest delay of a thread's wake-up, as systemd's TimerSlackNSec sets it; 0: the default.
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
	// The process ends with this process, in every case, and Ctrl-C in a terminal does not reach it directly.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := startWithSlack(p.cmd, o.TimerSlack); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	go func() {
		_ = p.cmd.Wait() // the state has how it ended
		close(p.ended)
	}()
	return p, nil
}

// startWithSlack starts a program whose threads have this timer slack. They inherit it from the thread that starts them.
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
	return errors.Join(err, unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)) // restore the previous value
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns everything written to standard output and standard error.
func (p *Process) Output() string { return p.out.String() }

// Running reports whether the process still runs.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// errStillRunning is returned if an interrupt did not end the process.
var errStillRunning = errors.New("it did not end on a signal, and was killed")

// Interrupt ends the process as Ctrl-C does, and returns its exit code and the time it took. It waits no longer than patience.
func (p *Process) Interrupt(patience time.Duration) (code int, took time.Duration, err error) {
	return p.end(os.Interrupt, patience)
}

// Terminate is Interrupt with the signal with which a service manager or a kubelet ends the process.
func (p *Process) Terminate(patience time.Duration) (code int, took time.Duration, err error) {
	return p.end(syscall.SIGTERM, patience)
}

func (p *Process) end(signal os.Signal, patience time.Duration) (code int, took time.Duration, err error) {
	start := time.Now()
	if err := p.cmd.Process.Signal(signal); err != nil && p.Running() {
		return -1, 0, err
	}
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), time.Since(start), nil
	case <-time.After(patience):
		p.Kill()
		return -1, patience, errStillRunning
	}
}

// Wait waits until the process ends by itself and returns its exit code.
func (p *Process) Wait(patience time.Duration) (int, error) {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		p.Kill()
		return -1, errStillRunning
	}
}

// Kill kills the process if it is still running.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Complaints returns the log lines with level warning or higher.
func (p *Process) Complaints() []string {
	var result []string
	for line := range strings.Lines(p.Output()) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && fields[1] != "info" && fields[1] != "debug" ||
			strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			result = append(result, strings.TrimSpace(line))
		}
	}
	return result
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

// FreeAddress returns an unused address of this machine. For a minute the kernel assigns its port only to a process that requests it by
// number, because a connection that the server's side has closed keeps it (TIME_WAIT).
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	server, err := l.Accept()
	if err != nil {
		return "", err
	}
	if err := server.Close(); err != nil {
		return "", err
	}
	_, _ = client.Read(make([]byte, 1)) // until it is closed
	return l.Addr().String(), nil
}
