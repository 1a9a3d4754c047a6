// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOwnerNames(t *testing.T) {
	p := newTable(t)
	p.passwd("ada:x:1000:1000::/home/ada:/bin/sh\n")
	p.process(10, "a", 1, "/bin/a", "a")
	r := newReader(p.root)
	assert.Equal(t, "ada", describe(r, 10).Processes[0].Owner)

	p.passwd("grace:x:1000:1000::/home/grace:/bin/sh\n")
	p.process(11, "b", 1, "/bin/b", "b")
	assert.Equal(t, "grace", describe(r, 11).Processes[0].Owner, "the file has changed")

	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(p.root), "etc", "passwd")))
	p.process(12, "c", 1, "/bin/c", "c")
	assert.Empty(t, describe(r, 12).Processes[0].Owner, "the file is gone")

	p.passwd("ada:x:1000:1000::/home/ada:/bin/sh\n")
	p.process(13, "d", 1, "/bin/d", "d")
	assert.Empty(t, describe(newReader(p.root, WithPasswd("")), 13).Processes[0].Owner, "not asked for")
}

func TestDefaultPasswd(t *testing.T) {
	yes, no := func() bool { return true }, func() bool { return false }
	assert.Equal(t, "/etc/passwd", defaultPasswd("/proc", no))
	assert.Empty(t, defaultPasswd("/proc", yes), "the image's names are not the machine's")
	assert.Equal(t, "/host/etc/passwd", defaultPasswd("/host/proc", yes))
}

func TestInContainer(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	assert.True(t, inContainer())
}

func TestParsePasswd(t *testing.T) {
	names := parsePasswd([]byte("# comment:x:9:9\n" +
		"root:x:0:0:root:/root:/bin/sh\n" +
		"toor:x:0:0::/root:/bin/sh\n" +
		":x:5:5::/:/\n" +
		"bad:x:minus:5::/:/\n" +
		"+::::::\n" +
		"short:x:7\n" +
		"ada:x:1000:1000:Ada:/home/ada:/bin/sh"))
	assert.Equal(t, map[uint32]string{0: "root", 1000: "ada"}, names)
}

func FuzzParsePasswd(f *testing.F) {
	f.Add([]byte("root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/:/\n"))
	f.Add([]byte("::::\n\xff:x:1:1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range parsePasswd(data) {
			assert.NotEmpty(t, name)
		}
	})
}
