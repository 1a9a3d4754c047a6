// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shells starts shells that give themselves another name for each line (comm of proc_pid_comm(5)).
func shells(t *testing.T, count int) (all []*shell, pids []int64) {
	t.Helper()
	for range count {
		s := startShell(t, `while read name; do printf %s "$name" >/proc/$$/comm; echo done; done`)
		s.rename("before")
		all, pids = append(all, s), append(pids, s.pid())
	}
	return all, pids
}

func (s *shell) rename(name string) {
	s.t.Helper()
	s.tell(name)
	s.answer()
}

func name(r *Reader, pid int64) string { return r.processes[pid].name }

func TestAnotherNameIsSeenInItsTurn(t *testing.T) {
	for _, test := range []struct{ processes, turn int }{{1, 1}, {maxNames, 1}, {maxNames + 1, 2}, {3*maxNames - 1, 3}} {
		t.Run(strconv.Itoa(test.processes), func(t *testing.T) {
			r := New("", WithAnyNamespace())
			defer r.Close()
			all, pids := shells(t, test.processes)
			describe(r, pids...)
			describe(r, pids...) // how many there are is known from the one before
			require.NotEqual(t, noLife, r.processes[pids[0]].kept.life, "this kernel has descriptors of processes")
			for round := range 3 {
				now := "round" + strconv.Itoa(round)
				for _, s := range all {
					s.rename(now)
				}
				seen := make(map[int64]bool)
				for range test.turn {
					before := len(seen)
					describe(r, pids...)
					for _, pid := range pids {
						if name(r, pid) == now {
							seen[pid] = true
						}
					}
					assert.LessOrEqual(t, len(seen)-before, maxNames)
				}
				assert.Len(t, seen, test.processes)
			}
		})
	}
}

func TestEndedProcessIsSeenAtOnce(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	all, pids := shells(t, 2*maxNames)
	for range 3 {
		describe(r, pids...)
	}
	for i, s := range all {
		require.NoError(t, s.cmd.Process.Kill())
		require.Error(t, s.cmd.Wait())
		node := describe(r, pids...)
		for j := range node.Processes {
			assert.Equal(t, j <= i, node.Processes[j].Executable == "", "process %d, %d of them gone", j, i+1)
		}
	}
	assert.Zero(t, r.open)
}

// Many that end at once, and are not asked for any more.
func TestEndedProcessesAreLetGoOf(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	all, pids := shells(t, 3*len(r.lives.events)+1)
	describe(r, pids...)
	describe(r, pids...)
	require.Equal(t, len(pids), r.open)
	for _, s := range all[1:] {
		require.NoError(t, s.cmd.Process.Kill())
		require.Error(t, s.cmd.Wait())
	}
	node := describe(r, pids[0])
	assert.NotEmpty(t, node.Processes[0].Executable)
	assert.Equal(t, 1, r.open)
}

// One that was not described for a while has its name read before all others: it may be another program by now.
func TestNameIsReadOfOneThatWasAway(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	all, pids := shells(t, 4*maxNames)
	describe(r, pids...)
	for i := range pids {
		describe(r, append(append([]int64(nil), pids[:i]...), pids[i+1:]...)...)
		all[i].rename("after")
		describe(r, pids...)
		require.Equal(t, "after", name(r, pids[i]))
	}
}

func TestWithoutDescriptorsOfProcessesEachNameIsRead(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	r.ownNamespace = func() bool { return false }
	all, pids := shells(t, 2*maxNames)
	for _, now := range []string{"one", "two", "three"} {
		for _, s := range all {
			s.rename(now)
		}
		describe(r, pids...)
		for _, pid := range pids {
			assert.Equal(t, now, name(r, pid))
		}
	}
}

func TestOwnNamespace(t *testing.T) {
	assert.True(t, ownNamespace(defaultRoot))
	for text, own := range map[string]bool{
		"Name:\tsleep\nNSpid:\t12\n":      true,
		"Name:\tsleep\nNSpid:\t4012\t1\n": false, // in a container, seen from the machine
		"Name:\tsleep\nNSpid:\n":          false,
		"Name:\tsleep\n":                  false, // before Linux 4.1
	} {
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "self"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, "self", "status"), []byte(text), 0o600))
		assert.Equal(t, own, ownNamespace(root), "%q", text)
	}
	assert.False(t, ownNamespace(t.TempDir()), "it is not in the table")
}

func TestProcessThatIsDescribedOnceKeepsTime(t *testing.T) {
	r := New("", WithAnyNamespace())
	defer r.Close()
	_, pids := shells(t, 1)
	var now time.Time
	r.now = func() time.Time { return now }
	now = time.Now()
	describe(r, pids...)
	now = now.Add(time.Minute)
	describe(r, pids...)
	assert.Equal(t, now, r.processes[pids[0]].seen)
}
