// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shipped returns the path of a shipped script.
func shipped(script string) string { return filepath.Join("..", "..", "..", "deploy", "slurm", script) }

// run runs a shipped script as slurmd does: with these variables and no others.
func run(t *testing.T, script, dir string, variables ...string) {
	t.Helper()
	runFile(t, shipped(script), dir, variables...)
}

func runFile(t *testing.T, path, dir string, variables ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/bin/sh", path)
	command.Env = append([]string{"GPU_JOB_MAPPING_DIR=" + dir}, variables...)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "it never fails: %s", output)
	assert.Empty(t, string(output))
}

// What the shipped prolog writes is what ReadMapping reads, and the epilog removes the job's alone.
func TestPrologAndEpilog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=12", "SLURM_JOB_GPUS=0,1", "CUDA_VISIBLE_DEVICES=0,1", "SLURM_JOB_USER=ada",
		"SLURM_JOB_ACCOUNT=physics", "SLURM_JOB_PARTITION=gpu")
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=13", "SLURM_JOB_GPUS=1", "SLURM_JOB_USER=bob")
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=14", "SLURM_JOB_GPUS=3-5")
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=15", "SLURM_JOB_GPUS=6", "CUDA_VISIBLE_DEVICES=MIG-265a219d-a49f-578a-825d-222c72699c16")
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=12", "SLURM_JOB_GPUS=0,1", "SLURM_JOB_USER=ada", "SLURM_JOB_ACCOUNT=physics", "SLURM_JOB_PARTITION=gpu")

	got, err := ReadMapping(dir)
	require.NoError(t, err)
	slices.Sort(got.Jobs["1"])
	assert.Equal(t, map[string][]string{
		"0": {"12"}, "1": {"12", "13"}, "3": {"14"}, "4": {"14"}, "5": {"14"}, "MIG-265a219d-a49f-578a-825d-222c72699c16": {"15"},
	}, got.Jobs)
	assert.Equal(t, map[string]Job{"12": {"12", "ada", "physics", "gpu"}, "13": {ID: "13", User: "bob"}, "14": {ID: "14"}, "15": {ID: "15"}}, got.Details)

	run(t, "epilog.sh", dir, "SLURM_JOB_ID=12")
	got, err = ReadMapping(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"13"}, got.Jobs["1"])
	assert.NotContains(t, got.Jobs, "0")
	assert.NotContains(t, got.Details, "12")
	assert.Contains(t, got.Details, "13")

	for _, job := range []string{"13", "14", "15", "1"} {
		run(t, "epilog.sh", dir, "SLURM_JOB_ID="+job)
	}
	assert.Equal(t, []string{".lock"}, files(t, dir))
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// The scripts ignore invalid names and IDs, and leave a job without GPUs out.
func TestScriptsWithoutGPUs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	for _, variables := range [][]string{
		{}, {"SLURM_JOB_ID=1"}, {"SLURM_JOB_GPUS=0"}, {"SLURM_JOB_ID=../1", "SLURM_JOB_GPUS=0"}, {"SLURM_JOB_ID=1", "SLURM_JOB_GPUS=../0,a,-1,0-,*"},
	} {
		run(t, "prolog.sh", dir, variables...)
		run(t, "epilog.sh", dir, variables...)
	}
	assert.NoDirExists(t, dir)
}

// A value with a line break adds no line.
func TestPrologOfStrangeValues(t *testing.T) {
	dir := t.TempDir()
	run(t, "prolog.sh", dir, "SLURM_JOB_ID=1", "SLURM_JOB_GPUS=0", "SLURM_JOB_ACCOUNT=a\nuser=root", "SLURM_JOB_USER=$(id) %s \\n")
	got, err := ReadMapping(dir)
	require.NoError(t, err)
	assert.Equal(t, Job{ID: "1", User: `$(id) %s \n`, Account: "auser=root"}, got.Details["1"])
}

// patient returns the path of a shipped script that waits for its lock without a bound.
func patient(t *testing.T, script string) string {
	t.Helper()
	text, err := os.ReadFile(shipped(script))
	require.NoError(t, err)
	require.Contains(t, string(text), "flock -w 10 9")
	path := filepath.Join(t.TempDir(), script)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "flock -w 10 9", "flock 9", 1)), 0o600))
	return path
}

// Prologs and epilogs of many jobs on one GPU at the same time lose none of them.
func TestScriptsAtTheSameTime(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("flock is missing")
	}
	dir := t.TempDir()
	const jobs = "123456789"
	together := func(script string, jobs string) {
		path := patient(t, script)
		var all sync.WaitGroup
		for job := range strings.SplitSeq(jobs, "") {
			all.Go(func() { runFile(t, path, dir, "SLURM_JOB_ID="+job, "SLURM_JOB_GPUS=0") })
		}
		all.Wait()
	}
	together("prolog.sh", jobs)
	got, err := ReadMapping(dir)
	require.NoError(t, err)
	assert.ElementsMatch(t, strings.Split(jobs, ""), got.Jobs["0"])
	together("epilog.sh", jobs[1:])
	got, err = ReadMapping(dir)
	require.NoError(t, err)
	assert.Equal(t, map[string][]string{"0": {"1"}}, got.Jobs)
}

// The commands of docs/reference/attribution.md put the scripts where the documented lines of slurm.conf find them.
func TestDocumentedInstallation(t *testing.T) {
	repository, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(repository, "docs", "reference", "attribution.md"))
	require.NoError(t, err)
	block := func(language string) string {
		_, rest, ok := strings.Cut(string(page), "```"+language+"\n")
		require.True(t, ok, language)
		text, _, _ := strings.Cut(rest, "```")
		return text
	}
	root := t.TempDir()
	paths := strings.NewReplacer("/etc/slurm", root, "/usr/share/otelcol-gpu/slurm", "deploy/slurm") // the package's directory holds these files
	command := exec.CommandContext(t.Context(), "/bin/sh", "-e", "-c", paths.Replace(block("sh")))
	command.Dir = repository
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	for key, script := range map[string]string{"Prolog": "prolog.sh", "Epilog": "epilog.sh"} {
		_, rest, ok := strings.Cut(block("ini"), key+"=")
		require.True(t, ok, key)
		pattern, _, _ := strings.Cut(rest, "\n")
		installed, err := filepath.Glob(strings.ReplaceAll(pattern, "/etc/slurm", root))
		require.NoError(t, err)
		require.Len(t, installed, 1)
		got, err := os.ReadFile(installed[0])
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(repository, "deploy", "slurm", script))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
		info, err := os.Stat(installed[0])
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	}
}
