// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// longNames returns the sample fleet with names as clouds give them, which differ at their ends.
func longNames() *view.Snapshot {
	const prefix = "gke-production-europe-west4-a3-highgpu-8g-pool-7f3a2b1c-"
	s := viewtest.Snapshot()
	for i, n := range s.Nodes {
		n.Name = fmt.Sprintf("%snode%d", prefix, i)
		if n.Cluster != nil {
			n.Cluster = new("production-europe-west4-" + *n.Cluster)
		}
		for _, g := range n.GPUs {
			g.Node, g.Cluster = n.Name, n.Cluster
			for _, c := range g.Containers {
				if c.Pod != nil {
					c.Pod, c.Workload = new(prefix+*c.Pod), new(prefix+"job")
				}
			}
			for _, p := range g.Processes {
				p.Node, p.Cluster = n.Name, n.Cluster
			}
		}
	}
	return s
}

// In windows of the usual sizes every row can be told from the others: no column that identifies it is dropped, and shortened names keep their ends.
func TestTopSizes(t *testing.T) {
	server := serverOf(t, longNames())
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			term := startTerminal(t, size[0], size[1], nil, "top", "--server", server)
			term.shows("9 GPUs: 6 ok", "memory 325/768 GiB", "power 2700/5600 W", "8 Events", "q quit")
			for key, titles := range map[string]string{
				"1": "CLUSTER NODE GPU STATE UTIL", "2": "CLUSTER NODE GPU PID MEMORY NAME", "3": "CLUSTER NODE POD HELD", "4": "CLUSTER NAMESPACE KIND NAME HELD USED",
				"5": "CLUSTER NODE GPUS FAILED", "6": "CLUSTER GPUS FAILED", "7": "SEVERITY CLUSTER NODE GPU PROBLEM WHY", "8": "TIME EVENT CLUSTER NODE GPU MESSAGE",
			} {
				term.press(key)
				var headings []string
				screen := term.sees(titles, func(screen string) bool {
					for line := range strings.SplitSeq(screen, "\n") {
						headings = strings.Fields(strings.NewReplacer("▲", "", "▼", "").Replace(line))
						if containsInOrder(headings, strings.Fields(titles)) {
							return true
						}
					}
					return false
				})
				if key == "5" {
					rows := regexp.MustCompile(`node[0-5] +[0-9]`).FindAllString(screen, -1)
					assert.Len(t, rows, 6, "%s", screen)
				}
			}
			term.press("q")
			assert.Zero(t, term.end())
		})
	}
}

func containsInOrder(all, want []string) bool {
	for _, word := range all {
		if len(want) > 0 && word == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// Without colours, what failed is in reverse, and what is well is not.
func TestTopWithoutColours(t *testing.T) {
	term := startTerminal(t, 120, 24, []string{"NO_COLOR=1"}, "top", "--server", sampleServer(t))
	term.shows("failed (lost)")
	term.press("j") // the first row is in reverse itself
	reversed := func(text string) bool {
		written := term.written()
		at := strings.LastIndex(written, text)
		if at < 0 {
			return false
		}
		attributes := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindAllString(written[:at], -1)
		for i := len(attributes) - 1; i >= 0 && attributes[i] != "\x1b[m" && attributes[i] != "\x1b[0m"; i-- {
			if attributes[i] == "\x1b[7m" {
				return true
			}
		}
		return false
	}
	require.Eventually(t, func() bool { return reversed("failed (lost)") }, patience, 10*time.Millisecond)
	assert.False(t, reversed("live"), "%q", tail(term.written()))
	term.press("q")
	assert.Zero(t, term.end())
}

// withHistory has an hour of a GPU that works 6 s of every 20 s, and of its clock.
type withHistory struct{ *viewtest.Reader }

func (r withHistory) HistoryMetrics() []string {
	return []string{"hw.gpu.utilization", "hw.gpu.memory.utilization", "hw.temperature", "hw.power", "hw.gpu.speed"}
}

func (r withHistory) History(id, metric string, _ time.Time) (view.History, bool) {
	h := view.History{ID: id, Metric: metric}
	for i := range 61 {
		p := view.HistoryPoint{Time: viewtest.Now.Add(time.Duration(i-60) * time.Minute)}
		switch metric {
		case "hw.gpu.utilization":
			p.Value, p.Min, p.Max = new(0.3), new(0.0), new(1.0)
		case "hw.gpu.speed":
			p.Value, p.Min, p.Max = new(810e6), new(810e6), new(810e6)
		}
		h.Points = append(h.Points, p)
	}
	return h, true
}

// Enter shows a GPU with its problems, its history and its processes. A history whose peaks are short is shown up to its maximum, and the clock
// in proportion to its limit, or to its own maximum if the limit is not known.
func TestTopDetail(t *testing.T) {
	for name, limited := range map[string]bool{"limit": true, "no limit": false} {
		t.Run(name, func(t *testing.T) {
			s := viewtest.Snapshot()
			g := s.Nodes[3].GPUs[0]
			require.Equal(t, "GPU-n1-0", g.ID)
			if !limited {
				g.ClockLimits = nil
			}
			handler := api.New(withHistory{viewtest.NewReader(s)}, api.Settings{})
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)
			t.Cleanup(handler.Close)
			term := startTerminal(t, 120, 40, nil, "top", "--server", server.URL, "--cluster", "prod", "--node", "n1")
			term.shows("4 GPUs", "4242  compute  alice", "processes")
			term.press("j\r")
			screen := term.shows("nvidia0  NVIDIA H100 80GB HBM3  prod/n1", "█ mean, ░ up to the maximum", "holder", "ml/train-0", "4242  compute  alice")
			assert.Regexp(t, `UTIL +97% +░{80,} +100% limit`, screen)
			assert.Regexp(t, `  0% to 100% +[▄░█]{80,}`, screen)
			assert.Regexp(t, `[▇█]{80,}`, screen, "the mean is 30 % of three lines")
			if limited {
				assert.Regexp(t, `CLOCK +1980 MHz +1980 MHz limit`, screen)
			} else {
				assert.Regexp(t, `CLOCK +1980 MHz +█{80,} +810 MHz highest`, screen)
			}
			assert.Contains(t, screen, "POWER   650 W         no history yet")
			term.press("\x1b")
			term.shows("nvidia3", "HOLDER")
			term.press("7")
			term.shows("Clocks are throttled")
			term.press("\r")
			term.shows("nvidia3  NVIDIA H100 80GB HBM3  prod/n1", "hw_thermal_slowdown")
			term.press("q")
			assert.Zero(t, term.end())
		})
	}
}

// A click selects a row, another opens it; the wheel scrolls, and a click on a tab shows it.
func TestTopMouse(t *testing.T) {
	term := startTerminal(t, 120, 24, nil, "top", "--server", sampleServer(t))
	screen := term.shows("failed (lost)", "card1")
	require.Contains(t, term.written(), "\x1b[?1000h", "the program asks for clicks")
	row, tab := 0, 0
	lines := strings.Split(screen, "\n")
	for y, line := range lines {
		if strings.Contains(line, "card1") {
			row = y + 1
		}
		if strings.Contains(line, "7 Problems") {
			tab = y + 1
		}
	}
	click := func(x, y int) { term.press(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x, y, x, y)) }
	click(30, row)
	click(30, row)
	term.shows("card1  AMD Instinct MI300X  lab/n1")
	for range 20 {
		term.press("\x1b[<65;30;10M") // the wheel, down
	}
	term.shows("PCI address")
	click(strings.Index(lines[tab-1], "7 Problems")+3, tab)
	term.shows("SEVERITY", "PROBLEM")
	term.press("q")
	assert.Zero(t, term.end())
	term.restored()
}
