// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package podlogs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	uid1 = "8b8b1f3c-6f9e-4b52-9c65-0a5b8e2f3d11"
	uid2 = "11111111-2222-3333-4444-555555555555"
)

var (
	id1 = strings.Repeat("a", 64)
	id2 = strings.Repeat("b", 64)
)

// node is the logs' directories of a node.
type node struct {
	t    *testing.T
	root string
}

func newNode(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, root: t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(n.root, "containers"), 0o755))
	return n
}

// container adds an instance of a container in the namespace ml.
func (n *node) container(pod, uid, name, id, restart string) {
	n.t.Helper()
	log := filepath.Join(n.root, "pods", "ml_"+pod+"_"+uid, name, restart+".log")
	require.NoError(n.t, os.MkdirAll(filepath.Dir(log), 0o755))
	link := filepath.Join(n.root, "containers", pod+"_ml_"+name+"-"+id+".log")
	require.NoError(n.t, os.Symlink(log, link))
}

func TestDirs(t *testing.T) {
	n := newNode(t)
	n.container("train-0", uid1, "main-loop", id1, "0")
	d := New(n.root)
	require.NoError(t, d.Refresh())

	pod := Pod{Namespace: "ml", Name: "train-0"}
	container := Container{Pod: pod, Name: "main-loop"}
	gotPod, ok := d.Pod(uid1)
	assert.True(t, ok)
	assert.Equal(t, pod, gotPod)
	uid, ok := d.UID(pod)
	assert.True(t, ok)
	assert.Equal(t, uid1, uid)
	gotContainer, ok := d.Container(id1)
	assert.True(t, ok)
	assert.Equal(t, container, gotContainer)
	id, ok := d.ID(container)
	assert.True(t, ok)
	assert.Equal(t, id1, id)

	_, ok = d.Pod(uid2)
	assert.False(t, ok)
	_, ok = d.UID(Pod{Namespace: "ml", Name: "x"})
	assert.False(t, ok)
	_, ok = d.Container(id2)
	assert.False(t, ok)
	_, ok = d.ID(Container{Pod: pod, Name: "x"})
	assert.False(t, ok)
}

// A restarted container has two log files. The one with the higher number is of the current instance.
func TestRestartedContainer(t *testing.T) {
	n := newNode(t)
	n.container("p", uid1, "main", id1, "10")
	n.container("p", uid1, "main", id2, "9")
	d := New(n.root)
	require.NoError(t, d.Refresh())
	id, ok := d.ID(Container{Pod: Pod{Namespace: "ml", Name: "p"}, Name: "main"})
	assert.True(t, ok)
	assert.Equal(t, id1, id)
	for _, id := range []string{id1, id2} {
		got, ok := d.Container(id)
		assert.True(t, ok)
		assert.Equal(t, "main", got.Name)
	}
}

// A pod has taken the place of another one of the same name, whose files are still there.
func TestRecreatedPod(t *testing.T) {
	n := newNode(t)
	n.container("db-0", uid1, "main", id1, "0")
	n.container("db-0", uid2, "main", id2, "0")
	d := New(n.root)
	require.NoError(t, d.Refresh())
	pod := Pod{Namespace: "ml", Name: "db-0"}
	_, ok := d.UID(pod)
	assert.False(t, ok, "either of the two")
	_, ok = d.ID(Container{Pod: pod, Name: "main"})
	assert.False(t, ok)
	_, ok = d.UIDOf(Container{Pod: pod, Name: "main"})
	assert.False(t, ok)
	got, ok := d.Pod(uid2)
	assert.True(t, ok, "the other way round there is no doubt")
	assert.Equal(t, pod, got)

	// The kubelet takes away the links of the containers first.
	require.NoError(t, os.Remove(filepath.Join(n.root, "containers", "db-0_ml_main-"+id1+".log")))
	require.NoError(t, d.Refresh())
	uid, ok := d.UIDOf(Container{Pod: pod, Name: "main"})
	assert.True(t, ok)
	assert.Equal(t, uid2, uid)
	id, ok := d.ID(Container{Pod: pod, Name: "main"})
	assert.True(t, ok)
	assert.Equal(t, id2, id)
	_, ok = d.UIDOf(Container{Pod: pod, Name: "other"})
	assert.False(t, ok)
}

func TestUIDOfStrangeLink(t *testing.T) {
	n := newNode(t)
	d := New(n.root)
	require.NoError(t, os.Symlink("/var/lib/docker/containers/x/x-json.log", filepath.Join(n.root, "containers", "p_ml_main-"+id1+".log")))
	require.NoError(t, os.WriteFile(filepath.Join(n.root, "containers", "q_ml_main-"+id2+".log"), nil, 0o600))
	require.NoError(t, d.Refresh())
	for _, pod := range []string{"p", "q"} {
		_, ok := d.UIDOf(Container{Pod: Pod{Namespace: "ml", Name: pod}, Name: "main"})
		assert.False(t, ok)
	}
}

func TestRefresh(t *testing.T) {
	n := newNode(t)
	d := New(n.root)
	require.NoError(t, d.Refresh())
	n.container("a", uid1, "main", id1, "0")
	require.NoError(t, d.Refresh())
	_, ok := d.Pod(uid1)
	assert.True(t, ok, "also within a tick of the file system's clock")

	require.NoError(t, os.RemoveAll(filepath.Join(n.root, "pods")))
	require.NoError(t, d.Refresh())
	_, ok = d.Pod(uid1)
	assert.False(t, ok)
	_, ok = d.Container(id1)
	assert.True(t, ok)
}

func TestNotReadAgain(t *testing.T) {
	n := newNode(t)
	n.container("a", uid1, "main", id1, "0")
	old := time.Now().Add(-time.Hour)
	directory := filepath.Join(n.root, "pods")
	require.NoError(t, os.Chtimes(directory, old, old))
	d := New(n.root)
	_, changed, err := d.pods.read()
	require.NoError(t, err)
	assert.True(t, changed)
	_, changed, err = d.pods.read()
	require.NoError(t, err)
	assert.False(t, changed)
}

func TestNotMounted(t *testing.T) {
	d := New(filepath.Join(t.TempDir(), "nothing"))
	require.NoError(t, d.Refresh())
	_, ok := d.Pod(uid1)
	assert.False(t, ok)
}

func TestMissingDirectory(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "pods"), nil, 0o600))
	require.ErrorContains(t, New(root).Refresh(), "log directories: ")
}

// A link that cannot be read or leads elsewhere does not show which instance is the newest.
func TestOddLinks(t *testing.T) {
	n := newNode(t)
	container := Container{Pod: Pod{Namespace: "ml", Name: "p"}, Name: "main"}
	n.container("p", uid1, "main", id1, "0")
	for i, restart := range []string{"0", "x", "-1"} {
		n.container("p", uid1, "main", id2, restart)
		d := New(n.root)
		require.NoError(t, d.Refresh())
		_, ok := d.ID(container)
		assert.False(t, ok, i)
		require.NoError(t, os.Remove(filepath.Join(n.root, "containers", "p_ml_main-"+id2+".log")))
	}
	require.NoError(t, os.WriteFile(filepath.Join(n.root, "containers", "p_ml_main-"+id2+".log"), nil, 0o600))
	d := New(n.root)
	require.NoError(t, d.Refresh())
	_, ok := d.ID(container)
	assert.False(t, ok)
}

func TestParse(t *testing.T) {
	for _, name := range []string{"", "a_b", "a_b_c_d", "_b_c", "a__c", "a_b_"} {
		_, _, ok := parsePodDir(name)
		assert.False(t, ok, name)
	}
	for _, name := range []string{
		"", "a_b_c.log", "a_b_c-" + id1, "a_b_c-" + id1[1:] + ".log", "a_b_-" + id1 + ".log", "_b_c-" + id1 + ".log", "b_c-" + id1 + ".log",
	} {
		_, _, ok := parseLink(name)
		assert.False(t, ok, name)
	}
	for _, target := range []string{"", "0.txt", "/a/b/x.log", "/a/b/-1.log"} {
		_, _, ok := parseTarget(target)
		assert.False(t, ok, target)
	}
	pod, restart, ok := parseTarget("/var/log/pods/ml_p_u/main/12.log")
	assert.True(t, ok)
	assert.Equal(t, "ml_p_u", pod)
	assert.Equal(t, 12, restart)
}

func FuzzParseLink(f *testing.F) {
	f.Add("train-0_ml_main-loop-" + id1 + ".log")
	f.Add("a_b_c-.log")
	f.Fuzz(func(t *testing.T, name string) {
		if container, id, ok := parseLink(name); ok {
			assert.Equal(t, name, container.Pod.Name+"_"+container.Namespace+"_"+container.Name+"-"+id+".log")
		}
	})
}

func FuzzParsePodDir(f *testing.F) {
	f.Add("ml_train-0_" + uid1)
	f.Fuzz(func(t *testing.T, name string) {
		if pod, uid, ok := parsePodDir(name); ok {
			assert.Equal(t, name, pod.Namespace+"_"+pod.Name+"_"+uid)
		}
	})
}
