// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ring is a kernel's log, as syslog(2) shows it: the whole lines at its end that fit into the buffer.
type ring struct {
	lines []string
	err   error
	sizes []int
}

func (r *ring) call(action int, buffer []byte) (int, error) {
	if action != unix.SYSLOG_ACTION_READ_ALL {
		return 0, unix.EINVAL
	}
	r.sizes = append(r.sizes, len(buffer))
	if r.err != nil {
		return 0, r.err
	}
	first, size := len(r.lines), 0
	for first > 0 && size+len(r.lines[first-1])+1 <= len(buffer) {
		first--
		size += len(r.lines[first]) + 1
	}
	n := 0
	for _, line := range r.lines[first:] {
		n += copy(buffer[n:], line+"\n")
	}
	return n, nil
}

func (r *ring) add(numbers ...int) {
	for _, n := range numbers {
		r.lines = append(r.lines, fmt.Sprintf("<6>[%5d.000000] %d", n, n))
	}
}

// fresh is what one reading brings.
func fresh(t *testing.T, s *syslog) (texts []string, err error) {
	t.Helper()
	records, err := s.read(context.Background())
	for _, r := range records {
		texts = append(texts, r.Text)
	}
	return texts, err
}

func TestSyslog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &ring{}
		r.add(1, 2, 3, 4, 5, 6)
		s, err := openSyslog(r.call)
		require.NoError(t, err)
		read := func(want ...string) {
			t.Helper()
			got, err := fresh(t, s)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		read()
		r.add(7, 8)
		read("7", "8")
		read()
		r.add(8, 8) // the same line again: another message in the same microsecond
		read("8\n8")
		read()
		r.lines = nil // dmesg --clear
		read()
		r.add(9)
		read("9")
		r.lines = r.lines[:0]
		r.add(10)
		read("10")
		r.lines = append(r.lines, "garbage", "<6>no time")
		read("no time")
		read()
	})
}

// A log that was empty at the start, and one that has more new lines than the buffer takes, or than the log itself.
func TestSyslogLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &ring{}
		s, err := openSyslog(r.call)
		require.NoError(t, err)
		r.add(1)
		got, err := fresh(t, s)
		require.NoError(t, err)
		assert.Equal(t, []string{"1"}, got)

		for n := range 20_000 {
			r.add(2 + n)
		}
		r.sizes = nil
		got, err = fresh(t, s)
		require.NoError(t, err)
		assert.Len(t, got, 20_000)
		assert.Equal(t, []int{16 << 10, 64 << 10, 256 << 10, 1 << 20}, r.sizes)
		got, err = fresh(t, s)
		require.NoError(t, err)
		assert.Empty(t, got)
		assert.Equal(t, 16<<10, r.sizes[len(r.sizes)-1], "and the buffer is small again")

		r.lines = nil
		for n := range 100_000 {
			r.add(30_000 + n)
		}
		got, err = fresh(t, s)
		require.ErrorIs(t, err, errOverrun)
		assert.Equal(t, "129999", got[len(got)-1])
		assert.Less(t, len(strings.Join(got, "")), maxBuffer)
		got, err = fresh(t, s)
		require.NoError(t, err)
		assert.Empty(t, got)

		r.err = errors.New("refused")
		_, err = fresh(t, s)
		require.EqualError(t, err, "syslog(2): refused")
		_, err = openSyslog(r.call)
		require.EqualError(t, err, "syslog(2): refused")
	})
}
