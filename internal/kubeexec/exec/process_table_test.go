// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// The script finds this process in the real process table, in any PID namespace.
func TestProcessScript(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			self := int64(os.Getpid())
			separator := newSeparator()
			stdout, _ := runIn(t, shell, bin(t, ""), processArgv(separator, true, []int64{self, MaxPID}))
			table, err := parseProcessTable(separator, stdout)
			require.NoError(t, err)
			require.Contains(t, table.Processes, self, "%s", stdout)
			assert.NotContains(t, table.Processes, int64(MaxPID))
			e := table.Processes[self]
			cgroup, err := os.ReadFile("/proc/self/cgroup")
			require.NoError(t, err)
			assert.Equal(t, string(cgroup), e.Cgroup)
			comm, err := os.ReadFile("/proc/self/comm")
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(string(comm)), e.Name)
			assert.WithinDuration(t, time.Now(), e.Started(table.Boot), time.Hour)
			kernel, err := os.ReadFile("/proc/2/stat")
			assert.Equal(t, err == nil && bytes.Contains(kernel, []byte("(kthreadd)")), table.Machine)

			stdout, _ = runIn(t, shell, bin(t, ""), processArgv(separator, false, []int64{self}))
			table, err = parseProcessTable(separator, stdout)
			require.NoError(t, err)
			assert.True(t, table.Boot.IsZero(), "not asked for")
		})
	}
}

func TestProcessArgvFitsIntoAURL(t *testing.T) {
	pids := slices.Repeat([]int64{MaxPID}, MaxProcesses)
	assert.Less(t, len(strings.Join(processArgv(newSeparator(), true, pids), "")), 6<<10)
}

func TestParseProcessTable(t *testing.T) {
	whole := "5e b\n1700000000\n5e 2\n" + exectest.StatLine(2, "kthreadd", kernelThread, 1) + "5e c\n0::/\n5e 42\n" +
		exectest.StatLine(42, "a) S\n(b", 0, 1234) + "5e c\n0::/a\n0::/b\n5e 43\n5e c\n5e e\n"
	table, err := parseProcessTable("5e", []byte(whole))
	require.NoError(t, err)
	assert.True(t, table.Machine)
	assert.Equal(t, time.Unix(1700000000, 0), table.Boot)
	want := map[int64]Process{42: {Name: "a) S (b", ticks: 1234, Cgroup: "0::/a\n0::/b\n"}}
	assert.Equal(t, want, table.Processes)
	s := want[42]
	assert.Equal(t, time.Unix(1700000012, 340_000_000), s.Started(table.Boot))
	assert.Zero(t, s.Started(time.Time{}))
	for n := range len(whole) {
		table, err := parseProcessTable("5e", []byte(whole[:n]))
		if err != nil {
			assert.Less(t, n, 5)
			continue
		}
		if e, ok := table.Processes[42]; ok {
			assert.Equal(t, want[42], e, "half an entry is none: %q", whole[:n])
		}
	}
	table, err = parseProcessTable("5e", []byte("5e b\n5e 2\n"+exectest.StatLine(2, "kthreadd", 0, 1)+"5e c\n5e e\n"))
	require.NoError(t, err)
	assert.False(t, table.Machine, "a name can be anything, the flag cannot")
	huge := strings.Repeat("x", maxCgroup+1)
	table, err = parseProcessTable("5e", []byte("5e b\n5e 7\n"+exectest.StatLine(7, "a", 0, 1)+"5e c\n"+huge+"5e e\n"))
	require.NoError(t, err)
	assert.Empty(t, table.Processes[7].Cgroup)
}

func FuzzParseProcessTable(f *testing.F) {
	f.Add([]byte("5e b\n1700000000\n5e 2\n" + exectest.StatLine(2, "kthreadd", kernelThread, 1) + "5e c\n0::/\n5e 42\n" + exectest.StatLine(42, "a) S\n(b", 0, 1234) + "5e c\n0::/a\n5e e\n"))
	f.Add([]byte("5e b\n5e 9223372036854775808\n5e c\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		table, err := parseProcessTable("5e", out)
		if err != nil {
			return
		}
		for pid, e := range table.Processes {
			if pid < 1 || pid > MaxPID || len(e.Cgroup) > 3*maxCgroup {
				t.Fatalf("%s: %d bytes", strconv.FormatInt(pid, 10), len(e.Cgroup))
			}
			_ = e.Started(time.Unix(1, 0))
		}
	})
}

func TestReadProcesses(t *testing.T) {
	m := &exectest.Machine{Table: map[int64]string{41: "0::/a\n"}}
	read := func(b exectest.Box) (*ProcessTable, error) {
		r := NewRunner(&direct{boxes: map[string]exectest.Box{inDriver.Pod: b}}, command.NvidiaSMI, time.Now)
		r.Use(inDriver)
		defer r.Release()
		assert.Equal(t, inDriver, r.Container())
		assert.Equal(t, inDriver, r.Container())
		return r.ReadProcesses(t.Context(), true, []int64{41, 42})
	}
	table, err := read(m.Box())
	require.NoError(t, err)
	assert.True(t, table.Machine)
	assert.False(t, table.Truncated)
	assert.Equal(t, time.Unix(1700000000, 0), table.Boot)
	require.Len(t, table.Processes, 1)
	assert.Equal(t, "0::/a\n", table.Processes[41].Cgroup)

	table, err = read(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		code, err := m.Box()(argv, stdout, stderr, done)
		_, _ = io.WriteString(stdout, strings.Repeat("x", maxTable))
		return code, err
	})
	require.NoError(t, err)
	assert.True(t, table.Truncated)

	for want, b := range map[string]exectest.Box{
		"the container contains no sh": func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) { return codeNotFound, nil },
		"read the process table: exec in": func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) {
			return 0, assert.AnError
		},
		"exit code 3: not the output of the script": func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) { return 3, nil },
	} {
		_, err := read(b)
		require.ErrorContains(t, err, want)
	}
}
