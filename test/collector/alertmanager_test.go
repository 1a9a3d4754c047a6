// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// notification is what Alertmanager sends to a webhook.
type notification struct {
	Receiver string `json:"receiver"`
	Alerts   []struct {
		Status      string            `json:"status"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"alerts"`
}

// A lost GPU is an alert of a real Prometheus with the shipped rules, and a real Alertmanager with the configuration of docs/operate/alerts.md hands it
// to the receiver of its severity, with the address of its runbook. When the GPU is back the receiver hears that it is over.
func TestAlertmanager(t *testing.T) {
	t.Parallel()
	hook := make(chan notification, 64)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notification
		if assert.NoError(t, json.NewDecoder(r.Body).Decode(&n)) {
			assert.Equal(t, "/"+n.Receiver, r.URL.Path)
			hook <- n
		}
	}))
	t.Cleanup(server.Close)
	manager := startAlertmanager(t, server.URL)

	n := prepareAlerting(t, "alerted", 2, "", false)
	n.shipped.interval = patient // one alert: none comes from a late read
	n.install()
	n.start(2)
	configuration := documentedYAML(t, "prometheus.yaml")
	require.Contains(t, configuration, "alertmanager.example:9093")
	n.prometheus = []string{scrapingPrometheus(t, "global: {evaluation_interval: 1s}\nrule_files: ["+shippedRules(t, shortDurations)+"/*.rules.yaml]\n"+
		strings.Replace(configuration, "alertmanager.example:9093", manager, 1), n.page)}

	n.set("[fault f]\ngpu = 1\nkind = lost")
	n.fires("GPUFailed nvidia1")
	heard := hears(t, hook, "pager", "firing")
	assert.Equal(t, "GPUFailed", heard.labels["alertname"])
	assert.Equal(t, "alerted", heard.labels["k8s_node_name"])
	assert.Equal(t, "nvidia1", heard.labels["hw_name"])
	assert.Equal(t, "lost", heard.labels["error_type"])
	assert.Contains(t, heard.annotations["summary"], "GPU nvidia1 of alerted in prod has failed: lost")
	assert.Regexp(t, `^https://.*/docs/operate/alerts\.md#gpufailed$`, heard.annotations["runbook_url"])

	n.set("")
	assert.Equal(t, heard.labels, hears(t, hook, "pager", "resolved").labels)
}

type heardAlert struct{ labels, annotations map[string]string }

// hears waits for a notification with one alert in this state; each that comes is for this receiver.
func hears(t *testing.T, hook <-chan notification, receiver, status string) heardAlert {
	t.Helper()
	for limit := time.After(patience); ; {
		select {
		case n := <-hook:
			assert.Equal(t, receiver, n.Receiver)
			require.Len(t, n.Alerts, 1)
			if n.Alerts[0].Status == status {
				return heardAlert{n.Alerts[0].Labels, n.Alerts[0].Annotations}
			}
		case <-limit:
			require.Fail(t, "Alertmanager sent nothing", status)
		}
	}
}

// startAlertmanager starts an Alertmanager with the configuration of docs/operate/alerts.md, whose receivers are below a URL. It returns its address.
func startAlertmanager(t *testing.T, url string) (address string) {
	t.Helper()
	command := alertmanager(t)
	dir, address := t.TempDir(), freeAddress(t)
	configuration := documentedYAML(t, "alertmanager.yaml")
	// Receivers are notified at once. Nothing else changes.
	configuration = strings.Replace(configuration, "  receiver: tickets\n", "  receiver: tickets\n  group_wait: 0s\n  group_interval: 1s\n", 1)
	for _, receiver := range []string{"pager", "tickets", "weekly"} {
		hook := regexp.MustCompile(`(name: ` + receiver + `, webhook_configs: \[\{url: )"[^"]+"`)
		require.Regexp(t, hook, configuration)
		configuration = hook.ReplaceAllString(configuration, `$1"`+url+"/"+receiver+`"`)
	}
	path := filepath.Join(dir, "alertmanager.yaml")
	require.NoError(t, os.WriteFile(path, []byte(configuration), 0o600))
	process, err := harness.Start(harness.Options{Binary: command[0], Dir: dir, Args: append(command[1:],
		"--config.file="+path, "--storage.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--cluster.listen-address=")})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
	})
	eventually(t, patience, "Alertmanager is ready", func() bool {
		require.True(t, process.Running(), process.Output())
		code, _, err := harness.Get(t.Context(), "http://"+address+"/-/ready")
		return err == nil && code == 200
	})
	return address
}

// alertmanager returns the command that starts Debian's Alertmanager. It reads its templates from /usr/share; if the package is unpacked
// and not installed they are put there in a mount namespace of its own.
func alertmanager(t *testing.T) []string {
	t.Helper()
	binary := tool(t, "prometheus-alertmanager")
	const templates = "usr/share/prometheus/alertmanager/default.tmpl"
	if _, err := os.Stat("/" + templates); err == nil {
		return []string{binary}
	}
	unpacked := filepath.Join(filepath.Dir(binary), "..", "..")
	require.FileExists(t, filepath.Join(unpacked, templates))
	inNamespace := []string{"unshare", "--map-root-user", "--mount", "sh", "-ec", `mount --bind "$1/usr/share" /usr/share; shift; exec "$@"`, "sh", unpacked}
	if output, err := exec.CommandContext(t.Context(), inNamespace[0], append(inNamespace[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("prometheus-alertmanager is not installed, and no mount namespace can be had for the unpacked one: %v: %s", err, output)
	}
	return append(inNamespace, binary)
}

// documentedYAML returns the example of docs/operate/alerts.md whose first line names a file.
func documentedYAML(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	_, example, ok := strings.Cut(string(text), "```yaml\n# "+file+"\n")
	require.True(t, ok, file)
	example, _, _ = strings.Cut(example, "```")
	return example
}
