// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// directory returns a directory with files.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

func TestReadMapping(t *testing.T) {
	dir := directory(t, map[string]string{
		"0": "12\n", "1": "12\n13\n12\n\n", "7": " 14 \r\n15", "2": "", "3": "\n",
		"MIG-265a219d-a49f-578a-825d-222c72699c16": "16\n",
		"job.12": "user=ada\naccount=physics\npartition=gpu\nnice=5\n", "job.13": "", "job.x": "user=x",
		".lock": "", ".new.abc": "99\n", "README": "1\n", "00000": "1\n", "1.0": "1\n", "sub/0": "1\n",
	})
	got, err := ReadMapping(dir)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{
		"0": {"12"}, "1": {"12", "13"}, "7": {"14", "15"}, "MIG-265a219d-a49f-578a-825d-222c72699c16": {"16"},
	}, got.Jobs)
	assert.Equal(t, map[string]Job{"12": {"12", "ada", "physics", "gpu"}, "13": {ID: "13"}}, got.Details)
	assert.Empty(t, got.Unknown)
}

// A file that cannot be understood leaves its GPU unknown, and the others as they are.
func TestReadMappingOfBadFiles(t *testing.T) {
	for name, content := range map[string]string{
		"garbage":        "\x00\xff\x01",
		"a text":         "job 12\n",
		"a line":         "12 account=physics\n",
		"a long number":  "123456789012345678901\n",
		"a huge file":    strings.Repeat("1\n", maxFile),
		"many jobs":      manyJobs(maxJobs + 1),
		"a negative one": "-1\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadMapping(directory(t, map[string]string{"0": content, "1": "7\n"}))
			require.ErrorContains(t, err, "GPU 0")
			assert.Equal(t, []string{"0"}, got.Unknown)
			assert.Equal(t, map[string][]string{"1": {"7"}}, got.Jobs)
		})
	}
	t.Run("a folder", func(t *testing.T) {
		got, err := ReadMapping(directory(t, map[string]string{"0/x": "", "1": "7\n"}))
		require.ErrorContains(t, err, "not a regular file")
		assert.Equal(t, []string{"0"}, got.Unknown)
	})
}

func manyJobs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i) + "\n")
	}
	return b.String()
}

// An attribute of a job is absent if it cannot be understood. The job still holds its GPU.
func TestDetailsOfBadFiles(t *testing.T) {
	got, err := ReadMapping(directory(t, map[string]string{
		"0": "7\n", "job.7": "user=a\x01b\naccount=" + strings.Repeat("a", maxDetail+1) + "\npartition=\xff\nnothing\n=\n", "job.8": strings.Repeat("u", maxFile+1),
	}))
	require.NoError(t, err)
	assert.Equal(t, map[string]Job{"7": {ID: "7"}}, got.Details)
	assert.Equal(t, map[string][]string{"0": {"7"}}, got.Jobs)
}

// Nothing is known from a directory that cannot be read.
func TestReadMappingFails(t *testing.T) {
	got, err := ReadMapping(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Nil(t, got.Jobs)

	got, err = ReadMapping(filepath.Join(directory(t, map[string]string{"file": ""}), "file"))
	require.Error(t, err)
	assert.Nil(t, got.Jobs)

	crowded := map[string]string{}
	for i := range maxFiles + 1 {
		crowded["f"+strconv.Itoa(i)] = ""
	}
	got, err = ReadMapping(directory(t, crowded))
	require.ErrorContains(t, err, "more than 4096 files")
	assert.Nil(t, got.Jobs)
}

func FuzzMapping(f *testing.F) {
	f.Add("12\n13\n", "user=ada\naccount=physics\npartition=gpu\n")
	f.Add(" 12 \r\n\n", "user\n=x\nuser=\x00")
	f.Add("\xff", strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, jobs, details string) {
		ids, err := parseJobs([]byte(jobs))
		assert.True(t, err == nil || ids == nil)
		assert.LessOrEqual(t, len(ids), maxJobs)
		for _, id := range ids {
			assert.True(t, isJobID(id))
			assert.Contains(t, jobs, id)
		}
		job := parseDetails("1", []byte(details))
		for _, value := range []string{job.User, job.Account, job.Partition} {
			assert.LessOrEqual(t, len(value), maxDetail)
			assert.NotContains(t, value, "\n")
			assert.Contains(t, details, value)
		}
	})
}
