// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// The phases of load.c. In any other phase it does nothing.
const (
	idle          = "idle"
	arithmetic    = "arithmetic"
	deviceCopy    = "device copy"
	hostCopy      = "host copy"
	allocation    = "allocation"
	halfDuty      = "half duty"
	illegalAccess = "illegal access"
)

// load is the running program of load.c.
type load struct {
	loaded
	cmd    *exec.Cmd
	input  io.WriteCloser
	out    *bufio.Scanner
	errors bytes.Buffer
}

// loaded is what the program says about its GPU.
type loaded struct {
	Name       string  `json:"name"`
	CUDA       int     `json:"cuda"` // the version of the driver's CUDA, 13000 for 13.0
	PID        int     `json:"pid"`
	MemoryRate float64 `json:"memory_rate"` // the peak rate of the memory, in bytes per second; 0 if it is not known
	UUID       string  `json:"uuid"`
}

// done is what the program did in a phase. Times are Unix times.
type done struct {
	Phase     string  `json:"phase"`
	Begin     float64 `json:"begin"`
	End       float64 `json:"end"`
	Busy      float64 `json:"busy"` // seconds in which the GPU worked
	Bytes     float64 `json:"bytes"`
	Allocated float64 `json:"allocated"`
	Code      int     `json:"code"` // a CUresult
}

func (d *done) duration() float64 { return d.End - d.Begin }

func startLoad(program string) (*load, error) {
	l := &load{cmd: exec.Command(program)}
	l.cmd.Stderr = &l.errors
	var err error
	if l.input, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	l.out = bufio.NewScanner(out)
	if err := l.next(&l.loaded); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// next reads the next line of the program.
func (l *load) next(into any) error {
	if l.out.Scan() {
		return json.Unmarshal(l.out.Bytes(), into)
	}
	_ = l.input.Close()
	_ = l.cmd.Wait()
	return errors.Join(fmt.Errorf("the load has ended: %s", strings.TrimSpace(l.errors.String())), l.out.Err())
}

// step begins a phase, or ends it with any other text, and returns what is known of it then.
func (l *load) step(text string) (d done, err error) {
	if _, err = fmt.Fprintln(l.input, text); err == nil {
		err = l.next(&d)
	}
	return d, err
}

func (l *load) stop() {
	_ = l.input.Close()
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}
