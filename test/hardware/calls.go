// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// function counts the calls of a function of NVML, as count.c does.
type function struct {
	Name                        [64]byte
	Calls, Nanoseconds, Longest uint64
	Codes                       [32]uint64 // by nvmlReturn_t; the last one stands for all larger codes
}

// readCalls reads the file of count.c: the function that took the most time is the first. There is no file if the dynamic linker knows no
// audit libraries.
func readCalls(path string) ([]function, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("calls of NVML: %w", err)
	}
	functions := make([]function, len(content)/binary.Size(function{}))
	if err := binary.Read(bytes.NewReader(content), binary.NativeEndian, functions); err != nil {
		return nil, fmt.Errorf("calls of NVML: %w", err)
	}
	functions = slices.DeleteFunc(functions, func(f function) bool { return f.Calls == 0 })
	slices.SortFunc(functions, func(a, b function) int { return cmp.Compare(b.Nanoseconds, a.Nanoseconds) })
	return functions, nil
}

func (f *function) name() string { return string(bytes.TrimRight(f.Name[:], "\x00")) }

// text returns the name, the number of calls, the mean and the longest time of a call in microseconds, and the return codes.
func (f *function) text(format string) string {
	return fmt.Sprintf(format, f.name(), f.Calls, float64(f.Nanoseconds)/float64(f.Calls)/1e3, float64(f.Longest)/1e3, f.codes())
}

func (f *function) codes() string {
	var all []string
	for code, n := range f.Codes {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d:%d", code, n))
		}
	}
	return strings.Join(all, " ")
}
