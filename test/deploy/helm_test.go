// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chart is the source of the manifests of deploy/kubernetes.
var chart = filepath.Join(root, "deploy", "helm", "gpureceiver")

// kubernetesVersion is what charts are rendered for: helm built from source knows no version by itself.
const kubernetesVersion = "1.34.0"

// helm returns the program: the one that HELM names, or the one that `make test-deploy` builds. Without it a test skips.
func helm(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("HELM"); program != "" {
		return program
	}
	program, err := filepath.Abs(filepath.Join(root, ".tools", "helm"))
	require.NoError(t, err)
	if !exists(program) {
		require.False(t, *update, "there is no .tools/helm: nothing was written; run `make .tools/helm` first")
		t.Skip("there is no .tools/helm: the chart was not rendered; make .tools/helm builds it")
	}
	return program
}

// runHelm runs helm with values on its standard input (-f -), which override testdata/helm/base.yaml.
func runHelm(t *testing.T, values string, args ...string) (out []byte, err error) {
	t.Helper()
	if i := slices.Index(args, "-f"); i >= 0 {
		args = slices.Insert(slices.Clone(args), i, "-f", filepath.Join("testdata", "helm", "base.yaml"))
	}
	command := exec.CommandContext(t.Context(), helm(t), args...)
	home := t.TempDir() // neither configuration nor cache of the user who runs the test
	command.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	command.Stdin = strings.NewReader(values)
	var failed bytes.Buffer
	command.Stderr = &failed
	out, err = command.Output()
	if err != nil {
		return failed.Bytes(), err
	}
	return out, nil
}

// render returns the manifest of a release named gpureceiver.
func render(t *testing.T, values string) []byte {
	t.Helper()
	return renderAs(t, "gpureceiver", values)
}

func renderAs(t *testing.T, release, values string) []byte {
	t.Helper()
	out, err := runHelm(t, values, "template", release, chart, "--kube-version", kubernetesVersion, "-f", "-")
	require.NoError(t, err, "%s", out)
	for line := range bytes.Lines(out) {
		assert.False(t, bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte("\t")), "%q", line)
	}
	return out
}

// rendered returns the objects of a release named gpureceiver, without the objects of operators.
func rendered(t *testing.T, values string) []object {
	t.Helper()
	return decode(t, "the chart", withoutOthers(render(t, values)))
}

// withoutOthers takes out what Kubernetes itself does not know.
func withoutOthers(manifest []byte) []byte {
	var documents [][]byte
	for document := range bytes.SplitSeq(bytes.TrimPrefix(manifest, []byte("---\n")), []byte("\n---\n")) {
		if !bytes.Contains(document, []byte("\napiVersion: monitoring.coreos.com/")) && !bytes.Contains(document, []byte("\napiVersion: security.openshift.io/")) {
			documents = append(documents, document)
		}
	}
	return bytes.Join(documents, []byte("\n---\n"))
}

// shipped are the files of this repository that the chart has below files/. A chart can read no file outside of its directory.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, name := range []string{"agent-kubernetes.yaml", "k8s-attributes.yaml", "cluster.yaml", "exec.yaml", "gateway.yaml"} {
		got[name] = filepath.Join(root, "config", name)
	}
	for directory, pattern := range map[string]string{
		"overlays": filepath.Join("config", "overlays", "*.yaml"), "rules": filepath.Join("deploy", "prometheus", "*.rules.yaml"),
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range files {
			got[filepath.Join(directory, filepath.Base(path))] = path
		}
	}
	return got
}

// The files of the chart are the files of this repository, and there are no others.
func TestChartHasTheShippedFiles(t *testing.T) { //nolint:paralleltest // it writes what other tests read
	directory := filepath.Join(chart, "files")
	for name, path := range shipped(t) {
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(directory, name), want, 0o644))
		}
		got, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s differs: run `go test ./test/deploy -update`", name)
	}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		assert.Contains(t, shipped(t), name, "in the chart, and not in the repository")
		return err
	}))
}

const (
	written = "# Written by `go test ./test/deploy -update` from deploy/helm/gpureceiver.\n"
	source  = "# Source: gpureceiver/templates/"
)

// byTemplate returns what each template below templates/ makes, as a file of deploy/kubernetes.
func byTemplate(manifest []byte) map[string]string {
	got := map[string]string{}
	for document := range strings.SplitSeq("\n"+string(manifest), "\n---\n") {
		name, text, ok := strings.Cut(strings.TrimPrefix(document, source), "\n")
		if !ok {
			continue
		}
		text = strings.TrimRight(text, "\n") + "\n"
		if before, ok := got[name]; ok {
			got[name] = before + "---\n" + text
		} else {
			got[name] = written + text
		}
	}
	return got
}

// unchecked takes out what kubectl's users would not expect: with kustomize nothing computes the checksum of a configuration.
const unchecked = "restartOnConfigChange: false\n"

// directories are the directories of deploy/kubernetes that consist of the chart's templates of the same name, with the values for them.
var directories = map[string]string{
	"agent":                            unchecked,
	"components/owners":                "agent: {owners: {enabled: true}}",
	"components/owner-kinds":           "agent: {owners: {enabled: true}, ownerKinds: {enabled: true}}",
	"components/node-labels":           "agent: {nodeLabels: {enabled: true}}",
	"components/dra":                   "agent: {dra: {enabled: true}}",
	"components/k8s-attributes":        "agent: {k8sAttributes: {enabled: true}}",
	"components/kernel-log":            "agent: {kernelLog: {enabled: true}}",
	"components/kubernetes-events":     "agent: {kubernetesEvents: {enabled: true}}",
	"components/node-condition":        "agent: {nodeCondition: {enabled: true}}",
	"components/node-condition-policy": "agent: {nodeCondition: {enabled: true, policy: {enabled: true}}}",
	"cluster":                          unchecked + "cluster: {enabled: true}",
	"components/cluster-events":        "cluster: {enabled: true, events: {enabled: true}}",
	"components/cluster-claims":        "cluster: {enabled: true, claims: {enabled: true}}",
	"components/cluster-owner-kinds":   "cluster: {enabled: true, ownerKinds: {enabled: true}}",
	"components/cluster-replicas":      "cluster: {enabled: true, replicas: 2}",
	"exec":                             unchecked + "exec: {enabled: true}",
	"components/exec-owner-kinds":      "exec: {enabled: true, ownerKinds: {enabled: true}}",
	"exec-driver-pods":                 "exec: {enabled: true, driverPods: {namespaces: [gpu-operator]}}",
	"components/exec-shards":           "exec: {enabled: true, replicas: 3}",
}

// The manifests of deploy/kubernetes are what the chart renders: `go test ./test/deploy -update` writes them. A kustomization.yaml is not.
func TestDirectoriesMatchTheChart(t *testing.T) { //nolint:paralleltest // it writes what other tests read
	for directory, values := range directories {
		got := byTemplate(render(t, values))
		count := 0
		for name, text := range got {
			if filepath.ToSlash(filepath.Dir(name)) != directory {
				continue
			}
			count++
			path := filepath.Join(manifests, filepath.FromSlash(name))
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			shipped, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, text, string(shipped), "%s differs: run `go test ./test/deploy -update`", path)
		}
		there, err := filepath.Glob(filepath.Join(manifests, directory, "*.yaml"))
		require.NoError(t, err)
		assert.Len(t, there, count+1, "%s: a file that the chart does not render", directory) // kustomization.yaml
	}
}
