// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package top shows GPUs live in a terminal.
//
// Begin with [Run]. model.go has what is on the screen, keys.go and mouse.go what changes it, frame.go and body.go how it is drawn, pane.go
// the tables, detail.go and chart.go one GPU with its history, loader.go when the server is asked. plain.go is for an output that is no terminal.
package top // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/top"

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

// Options are what to show.
type Options struct {
	Server        string // its address, for the title
	Cluster, Node string // the part of the fleet with which to start
	Interval      time.Duration

	// For a collector that was started beside the screen.
	Notice string          // a line above everything, such as that the hardware is simulated
	Places string          // a line with the addresses of what the collector serves
	Why    func() []string // why it finds no GPU; may be nil
	Ended  <-chan error    // ends the screen with an error; may be nil
}

// Run shows GPUs on a screen until q or Ctrl-C is pressed or the context ends. It restores the terminal.
func Run(ctx context.Context, c *client.Client, screen tcell.Screen, o Options) error {
	if err := screen.Init(); err != nil {
		return fmt.Errorf("prepare the terminal: %w; set TERM to the terminal's type", err)
	}
	defer screen.Fini()
	screen.EnableMouse(tcell.MouseButtonEvents)
	m := newModel(o)
	l := newLoader(c, m.panes, o.Interval)
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { l.run(ctx) })
	running.Go(func() { l.watch(ctx) })
	return m.follow(ctx, screen, l, o.Ended)
}

// follow draws, and obeys the keys and the answers.
func (m *model) follow(ctx context.Context, screen tcell.Screen, l *loader, ended <-chan error) error {
	clock := time.NewTicker(time.Second) // for what says how long ago something was
	defer clock.Stop()
	lastQuestion := m.question()
	l.ask(lastQuestion)
	for {
		if q := m.question(); q != lastQuestion {
			lastQuestion = q
			l.ask(q)
		}
		width, height := screen.Size()
		paint(screen, m.frame(width, height, time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-clock.C:
		case a := <-l.answers:
			m.take(a)
		case m.live = <-l.live:
		case e, open := <-screen.EventQ():
			if !open {
				return nil
			}
			switch e := e.(type) {
			case *tcell.EventResize:
				screen.Sync()
			case *tcell.EventKey:
				if e.Pressed() && !m.key(e) {
					return nil
				}
			case *tcell.EventMouse:
				m.mouse(e)
			}
		}
	}
}
