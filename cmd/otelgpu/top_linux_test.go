// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// What a person sees of the sample fleet, key by key.
func TestTopKeys(t *testing.T) {
	term := startTerminal(t, 170, 30, nil, "top", "--server", sampleServer(t))
	screen := term.shows("live", "9 GPUs: 6 ok, 1 throttled, 1 failed, 1 stale   nodes 5 of 6 (1 unreadable)", "failed (lost)")
	assert.Regexp(t, `prod +n1 +nvidia0 .* ok +█{10}  97% +60/80 GiB +40 °C +650/700 W .* 1  ml/train-0\n`, screen)
	assert.Regexp(t, `prod +n1 +nvidia3 .*hw_thermal_slow…`, screen)
	assert.Regexp(t, `prod +n2 +└ nvidia0 3g.20gb .* - +░{10}   0% +5.0/20 GiB +- +- `, screen, "what is not known is no 0")

	assert.Less(t, strings.Index(screen, "failed (lost)"), strings.Index(screen, "ml/train-0"), "failed first")
	term.press("\x1b[D\x1b[D") // left: by model, by name
	term.shows("▲GPU")
	term.press("ssss")
	term.shows("▼MEMORY")
	first := func(text string) func(string) bool {
		return func(screen string) bool { return regexp.MustCompile(`(?m)^CLUSTER .*\n.*` + text).MatchString(screen) }
	}
	term.sees("the largest first", first("card0"))
	term.press("r")
	term.sees("the smallest first", first("nvidia1 .* ok .* 1.0/80 GiB"))

	term.press("/TRAIN")
	term.shows("/TRAIN_")
	term.hides("card0")
	term.press("\x7f\x7f\x7f\x7f\x7fcard1\r")
	term.shows("only with card1", "card1  ")
	screen = term.hides("nvidia")
	assert.NotContains(t, screen, "ml/train-0")
	term.press("\x1b") // Esc
	term.hides("only with")

	term.press("2")
	term.shows("4242  compute  alice   60 GiB", "python3", "ml/train-0")
	term.press("3")
	idle := viewtest.Now.Add(-2 * time.Hour).Local().Format("2006-01-02 15:04:05")
	term.shows("StatefulSet/train", "nvidia0,nvidia1", idle)
	term.press("5")
	term.shows("workstation", "unread")
	term.press("/n1\r")
	term.hides("unread  ")
	term.press("\x1b[F\r") // End: prod/n1
	screen = term.shows("cluster prod, node n1", "4 GPUs: 3 ok, 1 throttled", "nvidia3")
	assert.NotContains(t, screen, "CLUSTER", "all rows have the same")
	term.press("\x1b")
	term.shows("cluster prod\n", "6 GPUs: 4 ok, 1 throttled, 1 failed")
	term.press("\x1b")
	term.shows("9 GPUs: 6 ok")
	term.press("6")
	term.sees("clusters", func(s string) bool { return regexp.MustCompile(`(?m)^prod +4 +1 +6 +4`).MatchString(s) })
	term.press("\x1b[H\r")
	term.shows("cluster prod\n", "unread")
	term.press("?")
	term.shows("show the GPUs of the selected row's node", "mouse")
	assert.Contains(t, term.written(), string(beginFrame), "shows waits for whole frames")
	term.press("x")
	term.hides("show the GPUs of")
	term.press("\t")
	term.press("\x1b[Z") // back
	term.press("q")
	assert.Zero(t, term.end())
	term.restored()
}

// However it ends, the terminal is as it was.
func TestTopEnds(t *testing.T) {
	server := sampleServer(t)
	for name, end := range map[string]func(*terminal){
		"q":         func(term *terminal) { term.press("q") },
		"Ctrl-C":    func(term *terminal) { term.press("\x03") },
		"interrupt": func(term *terminal) { _ = term.cmd.Process.Signal(os.Interrupt) },
		"terminate": func(term *terminal) { _ = term.cmd.Process.Signal(syscall.SIGTERM) },
		"hang up":   func(term *terminal) { _ = term.cmd.Process.Signal(syscall.SIGHUP) },
		"filter":    func(term *terminal) { term.press("/x\x03") },
		"help":      func(term *terminal) { term.press("?q") },
	} {
		t.Run(name, func(t *testing.T) {
			notifyHangUp(t)
			term := startTerminal(t, 100, 20, nil, "top", "--server", server)
			term.shows("9 GPUs")
			assert.NotEqual(t, term.before, term.modes())
			end(term)
			assert.Zero(t, term.end())
			term.restored()
		})
	}
}

// A change is shown when the server sends one on its stream, and also without a stream.
func TestTopChanges(t *testing.T) {
	for name, streams := range map[string]bool{"live": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			reader := viewtest.NewReader(viewtest.Snapshot())
			handler := api.New(reader, api.Settings{})
			t.Cleanup(handler.Close)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !streams && strings.HasSuffix(r.URL.Path, "/stream") {
					http.Error(w, "none", http.StatusServiceUnavailable)
					return
				}
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			t.Cleanup(handler.Close)
			term := startTerminal(t, 150, 30, nil, "top", "--server", server.URL, "--interval", "100ms")
			term.shows(name, "97%")
			later := viewtest.Snapshot()
			later.Generation++
			for _, n := range later.Nodes {
				for _, g := range n.GPUs {
					g.Utilization.General = new(0.33)
				}
			}
			reader.Set(later)
			term.hides("97%")
			term.shows("33%")
			term.press(" ") // hold still
			term.shows("paused")
			reader.Set(viewtest.Snapshot())
			term.press("j")
			term.shows("paused", "33%")
			term.press(" ")
			term.shows("97%")
		})
	}
}

// A lost server is shown with the reason, and what it said last stays. When it is back, so is the table.
func TestTopLostServer(t *testing.T) {
	handler := api.New(viewtest.NewReader(viewtest.Snapshot()), api.Settings{})
	t.Cleanup(handler.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	term := startTerminal(t, 150, 30, nil, "top", "--server", address, "--interval", "100ms")
	term.shows("no answer for", "connection refused; start a collector with the gpu_view exporter there")

	serve := func() *http.Server {
		listener, err := net.Listen("tcp", address)
		require.NoError(t, err)
		server := &http.Server{Handler: handler}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		return server
	}
	server := serve()
	term.shows("live", "9 GPUs")
	term.hides("no answer")
	require.NoError(t, server.Close())
	term.shows("no answer for", "connection refused", "ml/train-0")
	serve()
	term.hides("no answer")
	term.shows("9 GPUs")
	term.press("q")
	assert.Zero(t, term.end())
}

// What goes wrong at the server is shown: what, and what to do.
func TestTopErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"401":            {401, "text/plain", "no", "requires credentials"},
		"another server": {200, "text/html", "<html>", "check that --server is the address of the gpu_view exporter"},
		"half an answer": {200, "application/json", `{"items":[{"gpus"`, "not the API's JSON"},
		"escape":         {503, "application/problem+json", `{"title":"\u001b]0;pwned\u0007No GPU","remedy":"\u001b[2Jlook"}`, "No GPU; look"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			t.Cleanup(server.Close)
			term := startTerminal(t, 120, 20, nil, "top", "--server", server.URL, "--interval", "100ms")
			term.sees(tc.want, func(screen string) bool { return strings.Contains(strings.Join(strings.Fields(screen), " "), tc.want) })
			assert.NotContains(t, term.written(), "pwned")
			term.press("q")
			assert.Zero(t, term.end())
		})
	}
}

// The names of pods and processes are shown without what a terminal would obey.
func TestTopEscapesNames(t *testing.T) {
	const evil = "\x1b]0;pwned\x07\x1b[31mname\u009b2J\u202e"
	s := viewtest.Snapshot()
	for _, n := range s.Nodes {
		n.Name = "node" + evil
		for _, g := range n.GPUs {
			g.Node, g.Name, g.Model, g.Throttled = n.Name, new(evil), new(evil), []string{evil}
			for _, p := range g.Processes {
				p.Name, p.Pod, p.Owner = new(evil), new(evil), new(evil)
			}
			for _, c := range g.Containers {
				c.Pod, c.Workload = new(evil), new(evil)
			}
		}
	}
	handler := api.New(viewtest.NewReader(s), api.Settings{})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	t.Cleanup(handler.Close)
	term := startTerminal(t, 200, 40, nil, "top", "--server", server.URL)
	for _, pane := range []string{"1", "2", "3", "5"} {
		term.press(pane)
		term.shows("name")
	}
	term.press("q")
	assert.Zero(t, term.end())
	for _, sequence := range []string{"pwned", "\x1b[31mname", "\u009b", "\u202e"} {
		assert.NotContains(t, term.written(), sequence)
	}
	for _, args := range []string{"gpus", "processes", "gpus -o csv", "processes -o csv", "processes -o json"} {
		got := otelgpu(t, append([]string{"get", "--server", server.URL}, strings.Fields(args)...)...)
		assert.Zero(t, got.code)
		for _, sequence := range []string{"\x1b", "\x07", "\u009b", "\u202e"} {
			assert.NotContains(t, got.out, sequence, args)
		}
		assert.Contains(t, got.out, "name")
	}
}

// A narrow window has fewer columns, a low one fewer rows. The selected row stays in sight.
func TestTopResize(t *testing.T) {
	term := startTerminal(t, 200, 30, nil, "top", "--server", sampleServer(t))
	term.shows("HOLDER", "THROTTLED", "MODEL")
	term.resize(60, 12)
	screen := term.sees("fewer columns", func(s string) bool { return strings.Contains(s, "STATE") && !strings.Contains(s, "HOLDER") })
	assert.NotContains(t, screen, "3g.20gb")
	term.press("\x1b[F") // End
	term.shows("3g.20gb")
	term.resize(200, 30)
	term.shows("HOLDER", "MODEL")
	term.resize(1, 1)
	term.resize(20, 3)
	term.resize(100, 20)
	term.shows("9 GPUs")
	term.press("q")
	assert.Zero(t, term.end())
}

var colour = regexp.MustCompile("\x1b\\[[0-9;:]*\\b(3[0-7]|4[0-7]|9[0-7]|38|48)[;:m]")

func TestNoColor(t *testing.T) {
	server := sampleServer(t)
	for _, tc := range []struct {
		env    string
		colour bool
	}{{"NO_COLOR=1", false}, {"NO_COLOR=", true}} {
		term := startTerminal(t, 120, 24, []string{tc.env}, "top", "--server", server)
		term.shows("9 GPUs", "failed")
		term.press("q")
		assert.Zero(t, term.end())
		if tc.colour { // what it wrote may be on its way
			require.Eventually(t, func() bool { return colour.MatchString(term.written()) }, patience, 10*time.Millisecond)
		}
		assert.Equal(t, tc.colour, colour.MatchString(term.written()), tc.env)
	}
}

// If the output is not a terminal, there is one table, and the end.
func TestTopWithoutTerminal(t *testing.T) {
	got := otelgpu(t, "top", "--server", sampleServer(t), "--cluster", "prod", "--node", "n1")
	assert.Zero(t, got.code)
	assert.Regexp(t, `\n4 GPUs: 3 ok, 1 throttled   nodes 1 `, got.out)
	assert.Regexp(t, `\nnvidia0  NVIDIA H100 80GB HBM3  ok +█{10}  97% +60/80 GiB .* ml/train-0\n`, got.out)
	assert.NotContains(t, got.out, "\x1b")
	assert.Empty(t, got.err)
}

// A fleet is shown by its first rows, in the server's order, and says so.
func TestTopFleet(t *testing.T) {
	s := viewtest.Snapshot()
	for i := range 300 {
		n := *s.Nodes[3]
		n.Name = fmt.Sprintf("big%03d", i)
		n.GPUs = nil
		for _, g := range s.Nodes[3].GPUs {
			copied := *g
			copied.ID, copied.Node, copied.Utilization.General = n.Name+g.ID, n.Name, new(float64(i)/1000)
			n.GPUs = append(n.GPUs, &copied)
		}
		s.Nodes = append(s.Nodes, &n)
	}
	var requests atomic.Int64
	handler := api.New(viewtest.NewReader(s), api.Settings{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(handler.Close)
	term := startTerminal(t, 150, 40, nil, "top", "--interval", "1h", "--server", server.URL)
	term.shows("the first 200 of 1211; sort, filter, or choose a node or a cluster, to see others")
	term.press("3")
	term.shows("pods of the first 500 of 1211 GPUs; choose a node or a cluster to see its pods")
	term.press("1")
	term.shows("the first 200")
	term.press("/big299\r")
	term.sees("only its four GPUs", func(screen string) bool {
		return strings.Count(screen, "prod      big299  ") == 4 && !strings.Contains(screen, "big000")
	})
	term.press("\x1b")
	term.hides("only with")
	term.press("3/train-0\r")
	term.shows("only with train-0", "ml/train-0")
	term.press("q")
	assert.Zero(t, term.end())
	assert.Less(t, requests.Load(), int64(40), "each screen asks for a few pages, once")
}
