// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestDescribe(t *testing.T) {
	p := newTable(t)
	p.passwd("root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n")
	p.process(10, "python3", 100, "/usr/bin/python3.11", "python3", "train.py", "--token=secret")

	node := describe(newReader(p.root), 10)
	require.Empty(t, node.Problems)
	assert.Equal(t, gpu.Process{
		PID: 10, DeviceID: "GPU-1",
		Created:    boot.Add(100 * time.Second),
		Program:    "/usr/bin/python3.11",
		Executable: "python3.11",
		Command:    "python3",
		UserID:     gpu.Some[int64](1000),
		Owner:      "ada",
	}, node.Processes[0])
}

func TestDescribeOptions(t *testing.T) {
	p := newTable(t)
	p.process(10, "python3", 100, "/usr/bin/python3.11", "python3", "train.py", "--fast")

	node := describe(newReader(p.root, WithCommandLine(), WithCgroup()), 10)
	assert.Equal(t, "python3 train.py --fast", node.Processes[0].CommandLine)
	assert.Equal(t, "0::/system.slice/python3.service\n", node.Processes[0].Cgroup)
	assert.Empty(t, node.Processes[0].Owner, "without a passwd file there is no name")
	assert.Equal(t, gpu.Some[int64](1000), node.Processes[0].UserID)
}

func TestDescribeSeveralDevices(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	node := describe(newReader(p.root), 10, 10)
	assert.Equal(t, "a", node.Processes[0].Command)
	assert.Equal(t, node.Processes[0], node.Processes[1])
}

// A file that cannot be read makes its own details absent, and no others.
func TestDescribeUnreadable(t *testing.T) {
	tests := []struct {
		name   string
		remove string
		want   gpu.Process
	}{
		{"no exe", "10/exe", gpu.Process{Executable: "short", Command: "cmd", UserID: gpu.Some[int64](1000)}},
		{"no cmdline", "10/cmdline", gpu.Process{Program: "/bin/exe", Executable: "exe", UserID: gpu.Some[int64](1000)}},
		{"no status", "10/status", gpu.Process{Program: "/bin/exe", Executable: "exe", Command: "cmd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newTable(t)
			p.process(10, "short", 100, "/bin/exe", "cmd")
			p.remove(tt.remove)
			tt.want.PID, tt.want.DeviceID, tt.want.Created = 10, "GPU-1", boot.Add(100*time.Second)
			node := describe(newReader(p.root), 10)
			assert.Equal(t, tt.want, node.Processes[0])
			assert.Empty(t, node.Problems)
		})
	}
}

func TestDescribeNotFound(t *testing.T) {
	p := newTable(t)
	r := newReader(p.root)
	node := describe(r, 10)
	assert.Equal(t, nodeOf(10), node, "a process that does not exist")

	p.process(10, "a", 1, "/bin/a", "a")
	assert.Equal(t, "a", describe(r, 10).Processes[0].Executable, "it was started")
	p.remove("10")
	assert.Equal(t, nodeOf(10), describe(r, 10), "it has ended: nothing of it is reported again")
}

func TestDescribeNoBootTime(t *testing.T) {
	p := newTable(t)
	p.write("stat", "cpu 1 2 3\n")
	p.process(10, "a", 1, "/bin/a", "a")
	process := describe(newReader(p.root), 10).Processes[0]
	assert.True(t, process.Created.IsZero())
	assert.Equal(t, "a", process.Executable)
}

// Setting the clock moves the boot time.
func TestDescribeAfterTheClockWasSet(t *testing.T) {
	p := newTable(t)
	r := newReader(p.root)
	now := time.Now()
	r.now = func() time.Time { return now }
	for i, want := range []time.Time{boot, boot, boot.Add(time.Hour)} {
		p.write("stat", fmt.Sprintf("btime %d\n", boot.Unix()+int64(1800*i)))
		p.process(10+i, "a", 100, "/bin/a", "a")
		assert.Equal(t, want.Add(100*time.Second), describe(r, int64(10+i)).Processes[0].Created, "process %d", i)
		now = now.Add(bootKeep / 2)
	}
}

// Only the stat file of a process that lives on is read again.
func TestDescribeKeepsWhatWasRead(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	want := describe(r, 10)
	for _, file := range []string{"10/status", "10/cmdline", "10/exe", "10/cgroup", "stat"} {
		p.remove(file)
	}
	assert.Equal(t, want, describe(r, 10))
}

// Only the start time shows that another process has the PID.
func TestDescribePIDReuse(t *testing.T) {
	p := newTable(t)
	p.process(10, "python3", 100, "/bin/first", "first")
	r := newReader(p.root, WithCgroup())
	assert.Equal(t, "first", describe(r, 10).Processes[0].Executable)

	p.process(10, "python3", 200, "/bin/second", "second")
	p.write("10/cgroup", "0::/another\n")
	process := describe(r, 10).Processes[0]
	assert.Equal(t, "second", process.Executable)
	assert.Equal(t, "second", process.Command)
	assert.Equal(t, boot.Add(200*time.Second), process.Created)
	assert.Equal(t, "0::/another\n", process.Cgroup)
}

// Executing another program keeps the PID and the start time.
func TestDescribeExec(t *testing.T) {
	p := newTable(t)
	p.process(10, "sh", 100, "/bin/sh", "sh")
	r := newReader(p.root)
	describe(r, 10)
	p.process(10, "train", 100, "/bin/train", "train")
	assert.Equal(t, "train", describe(r, 10).Processes[0].Executable)
}

// A process has one name. That a thread changes the command name, or that files cannot be read any more, changes nothing.
func TestDescribeKeepsTheName(t *testing.T) {
	p := newTable(t)
	p.process(10, "python3", 100, "/usr/bin/python3.11", "python3", "train.py")
	p.process(11, "python3", 100, "/usr/bin/python3.11", "python3", "train.py")
	p.remove("11/exe") // of another user
	r := newReader(p.root)
	names := func() [2]string {
		node := describe(r, 10, 11)
		return [2]string{node.Processes[0].Executable, node.Processes[1].Executable}
	}
	first := [2]string{"python3.11", "python3"}
	assert.Equal(t, first, names())
	p.process(10, "ray::train", 100, "/usr/bin/python3.11", "ray::train")
	p.process(11, "ray::train", 100, "/usr/bin/python3.11", "ray::train")
	p.remove("11/exe")
	p.remove("10/exe")
	assert.Equal(t, first, names())
	assert.Equal(t, first, names())
	p.process(11, "other", 200, "/bin/other", "other")
	assert.Equal(t, [2]string{"python3.11", "other"}, names(), "another process has the PID")
}

// Nor does it change while the files of a process whose program is known do not answer.
func TestProcessNameDuringExec(t *testing.T) {
	p := newTable(t)
	p.process(10, "python3", 100, "/usr/bin/python3.11", "")
	p.write("10/cmdline", "")
	r := newReader(p.root)
	assert.Equal(t, "python3.11", describe(r, 10).Processes[0].Executable)
	p.remove("10/exe")
	assert.Equal(t, "python3.11", describe(r, 10).Processes[0].Executable)
}

// Executable needs no Describe. The name is missing if the process table may have the PIDs of a container.
func TestExecutable(t *testing.T) {
	p := newTable(t)
	p.process(10, "python3", 100, "/usr/bin/python3.11 (deleted)", "python3")
	r := newReader(p.root, WithAnyNamespace())
	assert.Equal(t, "python3.11", r.Executable(10))
	assert.Empty(t, r.Executable(11))
	p.namespace("pid:[4026532000]")
	assert.Empty(t, r.Executable(10))
}

// The kernel sets the program and the name of a process before its command line.
func TestDescribeWhileTheProgramBegins(t *testing.T) {
	p := newTable(t)
	p.process(41, "python3", 100, "/usr/bin/python3.11", "python3", "train.py")
	r := newReader(p.root)
	p.write("41/cmdline", "")
	begins := describe(r, 41).Processes[0]
	assert.Equal(t, "python3.11", begins.Executable)
	assert.Empty(t, begins.Command)
	p.write("41/cmdline", "python3\x00train.py\x00")
	assert.Equal(t, "python3", describe(r, 41).Processes[0].Command)
	p.write("41/cmdline", "renamed\x00")
	assert.Equal(t, "python3", describe(r, 41).Processes[0].Command, "it is as it was first")
}

func TestDescribeOddText(t *testing.T) {
	p := newTable(t)
	p.process(10, "we) (ird\xff\n", 100, "/bin/ex\xffe (deleted)", "a\xffb", "c")
	process := describe(newReader(p.root, WithCommandLine()), 10).Processes[0]
	assert.Equal(t, "ex\uFFFDe", process.Executable)
	assert.Equal(t, "a\uFFFDb", process.Command)
	assert.Equal(t, "a\uFFFDb c", process.CommandLine)
	assert.Equal(t, boot.Add(100*time.Second), process.Created)
}

func TestDescribeLongCommandLine(t *testing.T) {
	p := newTable(t)
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'x'
	}
	p.process(10, "a", 100, "/bin/a", string(long))
	process := describe(newReader(p.root, WithCommandLine()), 10).Processes[0]
	assert.Len(t, process.Command, maxCommand)
	assert.Len(t, process.CommandLine, maxCommandLine)
}

func TestForget(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	now := boot
	r.now = func() time.Time { return now }
	describe(r, 10)
	now = now.Add(keepFor / 2)
	describe(r, 10)
	now = now.Add(keepFor)
	describe(r)
	assert.Len(t, r.known.processes, 1, "another source may still report it")
	assert.Equal(t, 1, r.known.open)
	now = now.Add(time.Second)
	describe(r)
	assert.Empty(t, r.known.processes)
	assert.Zero(t, r.known.open)
}

func TestForgetTooMany(t *testing.T) {
	p := newTable(t)
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	now := time.Now()
	r.now = func() time.Time { return now }
	for pid := range int64(maxProcesses) {
		r.known.processes[1000+pid] = &process{pid: 1000 + pid, lastRead: now.Add(-time.Second)}
	}
	describe(r)
	assert.Len(t, r.known.processes, maxProcesses)
	describe(r, 10)
	assert.Len(t, r.known.processes, 1, "those of the current node stay")
}
