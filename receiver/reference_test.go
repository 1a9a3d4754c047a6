// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/test/reference"
)

// everything has all sections that are off by default.
const everything = `
kernel_log:
attribution:
  node_name: n1
  pod_resources:
  processes:
  slurm:
  owners:
  node_labels: {labels: [a]}
  containers: {docker: , podman: , containerd: }
`

const api = "Key for the Kubernetes API"

// filledIn are the defaults of settings whose own default is empty, as the pages have them.
var filledIn = map[string]string{
	"scrapers": "nvml and amdgpu", "metrics": "see below", "resource_attributes": "see below", "events": "see below",
	"attribution": "off", "attribution::node_name": "empty", "attribution::node_labels::labels": "must be given",
	"scrapers::kubernetes_exec::clusters":                            "must be given",
	"scrapers::kubernetes_exec::clusters::N::name":                   "must be given",
	"scrapers::kubernetes_exec::clusters::N::targets":                "the scraper's targets",
	"scrapers::kubernetes_exec::targets":                             "the GPU operator's driver pods",
	"scrapers::kubernetes_exec::targets::N::label_selector":          "must be given",
	"scrapers::kubernetes_exec::targets::N::namespace":               "gpu-operator",
	"scrapers::kubernetes_exec::targets::N::container":               "nvidia-driver-ctr",
	"scrapers::kubernetes_exec::targets::N::tool":                    "nvidia_smi",
	"scrapers::kubernetes_exec::targets::N::query":                   "fast",
	"scrapers::kubernetes_exec::leader_election::lease_name":         "gpureceiver",
	"scrapers::kubernetes_exec::leader_election::lease_namespace":    "the pod's own",
	"scrapers::kubernetes_cluster::resource_names":                   "see below",
	"scrapers::kubernetes_cluster::leader_election::lease_name":      defaultLease,
	"scrapers::kubernetes_cluster::leader_election::lease_namespace": "must be given",
	api + "::auth_type": "serviceAccount",
}

// settings returns all keys of the receiver.
func settings(t *testing.T) []reference.Setting {
	t.Helper()
	cfg, err := loadYAML(t, everything)
	require.NoError(t, err)
	stop := func(key string, of reflect.Type) bool {
		return of == reflect.TypeFor[kube.Config]() || of.Kind() == reflect.Map || key == "scrapers::kubernetes_exec::clusters::N::targets" ||
			slices.Contains([]string{"metrics", "resource_attributes", "events"}, key)
	}
	all := reference.Settings("", cfg, stop)
	for key, kind := range scraperKinds {
		all = append(all, reference.Settings("scrapers::"+key, kind.defaultConfig(), stop)...)
	}
	all = append(all, reference.Setting{Key: "attribution", Type: "section"})
	for i := range all {
		if all[i].Key == "scrapers" {
			all[i] = reference.Setting{Key: "scrapers", Type: "section"}
		}
	}
	return append(all, reference.Settings(api, &kube.Config{}, stop)...)
}

// Each key of the receiver is documented with its type and default, and no other key.
func TestKeysAreDocumented(t *testing.T) {
	pages := reference.Read(t, "..")
	documented := pages.Documented(map[string]string{
		"receivers::gpu": "", "scrapers": "scrapers", "attribution": "attribution", "kernel_log": "kernel_log", api: api,
	})
	for i, row := range documented { // what these rows say besides is not a default
		if strings.HasPrefix(row.Default, "[see below]") {
			documented[i].Default = "see below"
		}
	}
	reference.Compare(t, documented, settings(t), filledIn)

	page, err := os.ReadFile(filepath.Join("..", "docs", "reference", "scrapers.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "`["+strings.Join(cluster.DefaultResources(), ", ")+"]`")
}

// Each example is accepted, and each key is in an example.
func TestExamplesAreAccepted(t *testing.T) {
	pages := reference.Read(t, "..")
	given := map[string]bool{}
	count := 0
	for _, example := range pages.Examples {
		for _, settings := range example.Components("receivers", "gpu") {
			_, err := loadMap(settings)
			require.NoError(t, err, "%s: %s", example.Page, example.Text)
			reference.Given("", settings, given)
			count++
		}
	}
	assert.Greater(t, count, 20)
	for _, setting := range settings(t) {
		if name, ok := strings.CutPrefix(setting.Key, api+"::"); ok {
			assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(given)), func(key string) bool { return strings.HasSuffix(key, "::"+name) }), setting.Key)
			continue
		}
		assert.True(t, given[setting.Key], "%s: no example has this key", setting.Key)
	}
}

// Each metric of the collector itself has a row with its unit.
func TestOwnMetricsAreDocumented(t *testing.T) {
	want := map[string]string{}
	for _, file := range []string{"../metadata.yaml", "../exporter/metadata.yaml", "../exporter/kubernetes/metadata.yaml"} {
		content, err := os.ReadFile(filepath.FromSlash(file))
		require.NoError(t, err)
		var of struct {
			Telemetry struct {
				Metrics map[string]struct {
					Unit string `json:"unit"`
				} `json:"metrics"`
			} `json:"telemetry"`
		}
		require.NoError(t, yaml.Unmarshal(content, &of))
		for name, metric := range of.Telemetry.Metrics {
			want["`otelcol_"+name+"`"] = metric.Unit
		}
	}
	documented := map[string]string{}
	for _, row := range reference.Read(t, "..").Tables["Metric"] {
		documented[row[0]] = row[1]
	}
	assert.Equal(t, want, documented)
	assert.NotEmpty(t, want)
}
