// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// interval is the collection interval, and also the limit of each read. The tool's limit is 2 s less, in whole seconds.
const interval = 6 * time.Second

const configuration = `
receivers:
  gpu:
    collection_interval: INTERVAL
    timeout: INTERVAL
    scrapers:
      kubernetes_exec:
        clusters: [{name: e2e, CLUSTER}]
        EXTRA
exporters:
  otlp_http: {endpoint: SINK, compression: none}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_http]}
`

func config(sink, cluster, extra string) string {
	return strings.NewReplacer("INTERVAL", interval.String(), "SINK", sink, "CLUSTER", cluster, "EXTRA", extra).Replace(configuration)
}

// beside is a collector outside of the cluster.
type beside struct {
	*harness.Process
	outlet

	token string // the file that it takes its token from
}

// start starts a collector beside the cluster with a service account's permissions. Further settings of the scraper may be given.
func (s *stage) start(t *testing.T, account, extra string) *beside {
	t.Helper()
	return s.startWith(t, s.Token(t, accounts, account, nil), extra)
}

// startWith starts one that has a token.
func (s *stage) startWith(t *testing.T, token, extra string) *beside {
	t.Helper()
	dir := t.TempDir()
	b := &beside{outlet: newOutlet(t), token: filepath.Join(dir, "token")}
	b.setToken(t, token)
	access := "endpoint: 'https://" + s.NodeIP() + "', token_file: " + b.token + ", ca_file: " + s.PKI("ca.crt")
	b.run(t, s.collector, dir, config(b.URL, access, extra))
	return b
}

// setToken replaces the token as a whole, as the kubelet does.
func (b *beside) setToken(t *testing.T, token string) {
	t.Helper()
	require.NoError(t, os.WriteFile(b.token+".new", []byte(token), 0o600))
	require.NoError(t, os.Rename(b.token+".new", b.token))
}

func (b *beside) run(t *testing.T, binary, dir, config string, env ...string) {
	t.Helper()
	process, err := harness.Collector(harness.Options{Binary: binary, Dir: dir, Env: env}, config)
	require.NoError(t, err)
	b.Process = process
	t.Cleanup(func() {
		if process.Running() {
			code, _, err := process.Interrupt(30 * time.Second)
			assert.NoError(t, err)
			assert.Zero(t, code)
		}
		if t.Failed() {
			t.Logf("the collector:\n%s", process.Output())
		}
	})
}

// says waits until the collector has logged a line that contains all of the words.
func (b *beside) says(t *testing.T, words ...string) {
	t.Helper()
	eventually(t, "a line with "+strings.Join(words, " … "), func() bool { return b.said(words...) > 0 })
}

// said returns the number of lines with all of the words in the collector's log.
func (b *beside) said(words ...string) int {
	lines := 0
next:
	for line := range strings.Lines(b.Output()) {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		lines++
	}
	return lines
}

// The account that deploy/kubernetes/exec makes, and its namespace.
const (
	accounts       = "gpureceiver-exec"
	shippedAccount = "gpureceiver-exec"
)

// rights are the verbs that a service account has.
type rights struct {
	pods, exec, nodes, owners string
}

// all is what deploy/kubernetes/exec and exec-driver-pods grant.
func all() rights {
	return rights{pods: "list, watch", exec: "get, create", nodes: "list, watch", owners: "list, watch"}
}

// grant creates a service account with permissions.
func (s *stage) grant(t *testing.T, account string, r rights) {
	t.Helper()
	rules := func(pairs ...string) string { // of resources and verbs
		var list strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			if group, resource, _ := strings.Cut(pairs[i], ":"); pairs[i+1] != "" {
				list.WriteString("\n- {apiGroups: ['" + group + "'], resources: [" + resource + "], verbs: [" + pairs[i+1] + "]}")
			}
		}
		if list.Len() == 0 {
			return " []"
		}
		return list.String()
	}
	s.Apply(t, strings.NewReplacer(
		"NAMESPACE", accounts, "NAME", account, "HERE", rules(":pods", r.pods, ":pods/exec", r.exec),
		"EVERYWHERE", rules(":nodes", r.nodes, ":pods", r.owners, "apps:replicasets", r.owners, "batch:jobs", r.owners),
		"SUBJECT", "{kind: ServiceAccount, name: "+account+", namespace: "+accounts+"}",
	).Replace(`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME, namespace: NAMESPACE}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NAME, namespace: gpu-operator}
rules:HERE
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAME, namespace: gpu-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}
subjects: [SUBJECT]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-nodes}
rules:EVERYWHERE
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME-nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME-nodes}
subjects: [SUBJECT]
`))
}
