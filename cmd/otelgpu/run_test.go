// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// fakeCollector is a script in the collector's place. It writes its process ID and runs a command.
type fakeCollector struct{ dir string }

func newFakeCollector(t *testing.T, command string) *fakeCollector {
	t.Helper()
	c := &fakeCollector{dir: t.TempDir()}
	script := "cd " + c.dir + "\necho $$ >pid.new; mv pid.new pid\ntrap 'exit 0' INT\n" + command
	commandtest.WriteScript(t, filepath.Join(c.dir, "collector"), script)
	return c
}

func (c *fakeCollector) log() string { return filepath.Join(c.dir, "log") }

// args are the arguments that start it. As a collector's own server, the server answers only after it has started.
func (c *fakeCollector) args(t *testing.T, server string, more ...string) []string {
	t.Helper()
	if to, isURL := strings.CutPrefix(server, "http://"); isURL {
		server = "http://" + c.door(t, to)
	}
	return append([]string{"run", "--server", server, "--collector", filepath.Join(c.dir, "collector"), "--config", "none", "--log", c.log()}, more...)
}

// door returns an address that leads to a server once the script has started.
func (c *fakeCollector) door(t *testing.T, server string) string {
	t.Helper()
	reserved, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := reserved.Addr().String()
	require.NoError(t, reserved.Close())
	go func() {
		for t.Context().Err() == nil {
			if _, err := os.Stat(filepath.Join(c.dir, "pid")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return
		}
		context.AfterFunc(t.Context(), func() { _ = listener.Close() })
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = from.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	return address
}

// pid waits for the script's start. The process is killed at the test's end.
func (c *fakeCollector) pid(t *testing.T) int {
	t.Helper()
	var pid int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, patience, 10*time.Millisecond)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func requireEnded(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, patience, 10*time.Millisecond, "the collector has ended")
}

const untilEnd = "while :; do sleep 0.1; done"

// The collector is in a process group of its own and does not end with the terminal: otelgpu has to end it, also when the terminal is
// closed, or when its output is no longer read (otelgpu run | head).
func TestCollectorEndsWithOtelgpu(t *testing.T) {
	notifyHangUp(t)
	server := sampleServer(t)
	for name, end := range map[string]func(*exec.Cmd, *os.File){
		"Ctrl-C":              func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(os.Interrupt) },
		"terminated":          func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(syscall.SIGTERM) },
		"terminal closed":     func(c *exec.Cmd, _ *os.File) { _ = c.Process.Signal(syscall.SIGHUP) },
		"nobody reads output": func(_ *exec.Cmd, read *os.File) { _ = read.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			collector := newFakeCollector(t, untilEnd)
			read, write, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { _ = read.Close() })
			cmd := exec.Command(os.Args[0], collector.args(t, server)...)
			cmd.Env, cmd.Stdout = append(os.Environ(), asOtelgpu+"=1"), write
			require.NoError(t, cmd.Start())
			require.NoError(t, write.Close())
			pid := collector.pid(t)
			end(cmd, read)
			_ = cmd.Wait()
			requireEnded(t, pid)
			if name != "nobody reads output" {
				assert.Zero(t, cmd.ProcessState.ExitCode())
			}
		})
	}
}

// A server that answers before the collector starts is another one's: its GPUs are not shown, and no collector is started.
func TestRunWithUsedPort(t *testing.T) {
	t.Parallel()
	collector := newFakeCollector(t, untilEnd)
	server := sampleServer(t)
	got := otelgpu(t, "run", "--server", server, "--collector", filepath.Join(collector.dir, "collector"), "--config", "none", "--log", collector.log())
	assert.Equal(t, 1, got.code)
	assert.Empty(t, got.out)
	assert.Contains(t, got.err, strings.TrimPrefix(server, "http://")+" is in use by another program")
	assert.NoFileExists(t, filepath.Join(collector.dir, "pid"))
}

// In a terminal the table and the page's address are shown, and that the hardware is simulated. q ends the collector too.
func TestRunInTerminal(t *testing.T) {
	server := sampleServer(t)
	for name, end := range map[string]func(*terminal){
		"q":       func(term *terminal) { term.press("q") },
		"Ctrl-C":  func(term *terminal) { term.press("\x03") },
		"hang up": func(term *terminal) { _ = term.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			notifyHangUp(t)
			collector := newFakeCollector(t, untilEnd)
			args := collector.args(t, server, "--simulated", "--also", "OTLP file.jsonl")
			term := startTerminal(t, 150, 30, nil, args...)
			pid := collector.pid(t)
			term.shows("SIMULATED HARDWARE: these GPUs do not exist", "9 GPUs", "Page "+args[2]+"/, OTLP file.jsonl, log ", "ml/train-0")
			end(term)
			assert.Zero(t, term.end())
			term.restored()
			requireEnded(t, pid)
		})
	}
}

// A collector that ends by itself ends the screen. The end of its log says why.
func TestCollectorEndsByItself(t *testing.T) {
	collector := newFakeCollector(t, "echo one; echo 'cannot start: \033[31mport taken' >&2; exit 3")
	term := startTerminal(t, 100, 20, nil, collector.args(t, "127.0.0.1:1")...)
	assert.Equal(t, 1, term.end())
	term.restored()
	term.shows("the collector ended (exit status 3); the last lines of", "cannot start: port taken")

	got := otelgpu(t, collector.args(t, "127.0.0.1:1")...)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.err, "one\ncannot start: port taken\n")
	got = otelgpu(t, "run", "--collector", "/none", "--log", filepath.Join(t.TempDir(), "log"))
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.err, "build it with `make otelcol-gpu`, or give its path with --collector")
	got = otelgpu(t, "run", "--log", "/none/log")
	assert.Contains(t, got.err, "give another file with --log")
}

// A collector that does not end is killed.
func TestCollectorThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	collector := newFakeCollector(t, "trap '' INT\n"+untilEnd)
	term := startTerminal(t, 100, 20, nil, collector.args(t, sampleServer(t))...)
	pid := collector.pid(t)
	term.shows("9 GPUs")
	term.press("q")
	assert.Zero(t, term.end())
	requireEnded(t, pid)
}

// If no GPU can be read, the causes and remedies of the collector's log are shown.
func TestRunWithoutGPU(t *testing.T) {
	t.Parallel()
	server := emptyServer(t)
	line := `warn	Read failed	{"scraper": "nvml", "what": "library", "reason": "no usable libnvidia-ml.so.1; install the NVIDIA driver"}`
	collector := newFakeCollector(t, "echo '"+line+"'\n"+untilEnd)
	term := startTerminal(t, 120, 20, nil, collector.args(t, server)...)
	collector.pid(t)
	term.shows("library: no usable libnvidia-ml.so.1; install the NVIDIA driver")
	term.press("q")
	assert.Zero(t, term.end())

	collector = newFakeCollector(t, "echo '"+line+"'\n"+untilEnd)
	var answers atomic.Int64
	empty := api.New(viewtest.NewReader(emptyFleet()), api.Settings{})
	t.Cleanup(empty.Close)
	afterLog := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // it answers once the log has the cause
		for r.Context().Err() == nil {
			if log, _ := os.ReadFile(collector.log()); strings.Contains(string(log), line) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		answers.Add(1)
		empty.ServeHTTP(w, r)
	}))
	t.Cleanup(afterLog.Close)
	cmd := exec.Command(os.Args[0], collector.args(t, afterLog.URL, "--timeout", "5m")...)
	var out lockedBuffer
	cmd.Env, cmd.Stdout = append(os.Environ(), asOtelgpu+"=1"), &out
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	require.Eventually(t, func() bool { return out.String() != "" }, patience, 10*time.Millisecond)
	said := answers.Load()
	require.Eventually(t, func() bool { return answers.Load() > said+8 }, patience, 10*time.Millisecond, "it asks again")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	assert.Equal(t, "No GPU found on this machine; trying again. Press Ctrl-C to quit.\n  library: no usable libnvidia-ml.so.1; install the NVIDIA driver\n", out.String(), "once")
	requireEnded(t, collector.pid(t))
}

// If the output is not a terminal, the table is printed from time to time.
func TestRunWithoutTerminal(t *testing.T) {
	t.Parallel()
	collector := newFakeCollector(t, untilEnd)
	cmd := exec.Command(os.Args[0], collector.args(t, sampleServer(t), "--simulated")...)
	var out lockedBuffer
	cmd.Env, cmd.Stdout = append(os.Environ(), asOtelgpu+"=1"), &out
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	assert.Eventually(t, func() bool { return strings.Count(out.String(), "SIMULATED HARDWARE") == 2 }, patience, 10*time.Millisecond, "two tables")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait())
	tables := strings.Count(out.String(), "SIMULATED HARDWARE")
	assert.Equal(t, 2*tables, strings.Count(out.String(), "ml/train-0\n"), out.String())
	requireEnded(t, collector.pid(t))
}

// lockedBuffer is a buffer that a test may read while a program writes.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
