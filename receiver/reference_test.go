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
	"go.opentelemetry.io/collector/filter"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/metadata"
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

const (
	api      = "Key for the Kubernetes API"
	ofFilter = "Key of a filter"
)

// switched are the sections whose keys are names of metrics, events and resource attributes, with what is below each name.
var switched = map[string]any{
	"metrics":             reflect.New(reflect.TypeFor[metadata.MetricsConfig]().Field(0).Type).Interface(),
	"events":              &metadata.EventConfig{},
	"resource_attributes": &metadata.ResourceAttributeConfig{},
}

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
	api + "::auth_type": string(kube.AuthServiceAccount),

	"metrics::NAME::enabled": "depends on the name", "events::NAME::enabled": "depends on the name",
	"resource_attributes::NAME::enabled": "depends on the name",
}

// settings returns all keys of the receiver.
func settings(t *testing.T) []reference.Setting {
	t.Helper()
	cfg, err := loadYAML(t, everything)
	require.NoError(t, err)
	stop := func(key string, typ reflect.Type) bool {
		return typ == reflect.TypeFor[kube.Config]() || typ.Kind() == reflect.Map || key == "scrapers::kubernetes_exec::clusters::N::targets" ||
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
	for section, config := range switched {
		isFilters := func(_ string, typ reflect.Type) bool { return typ == reflect.TypeFor[[]filter.Config]() }
		all = append(all, reference.Settings(section+"::NAME", config, isFilters)...)
	}
	all = append(all, reference.Settings(ofFilter, &filter.Config{}, stop)...)
	return append(all, reference.Settings(api, &kube.Config{}, stop)...)
}

// Each key of the receiver is documented with its type and default, and no other key.
func TestKeysAreDocumented(t *testing.T) {
	pages := reference.Read(t, "..")
	documented := pages.Documented(map[string]string{
		"receivers::gpu": "", "scrapers": "scrapers", "attribution": "attribution", "kernel_log": "kernel_log", api: api, ofFilter: ofFilter,
	})
	for i, row := range documented { // other text of these rows is not a default
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
	names := map[string]bool{}
	count := 0
	for _, example := range pages.Examples {
		for _, settings := range example.Components("receivers", "gpu") {
			_, err := loadMap(settings)
			require.NoError(t, err, "%s: %s", example.Page, example.Text)
			reference.Given("", settings, names)
			count++
		}
	}
	assert.Greater(t, count, 20)
	for _, setting := range settings(t) {
		// The keys of several sections, and those below a name.
		name, several := strings.CutPrefix(setting.Key, api+"::")
		if !several {
			name, several = strings.CutPrefix(setting.Key, ofFilter+"::")
		}
		section, below, named := strings.Cut(setting.Key, "::NAME::")
		switch {
		case named:
			name = below
		case !several:
			assert.True(t, names[setting.Key], "%s: no example has this key", setting.Key)
			continue
		}
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(key string) bool {
			return strings.HasSuffix(key, "::"+name) && (!named || strings.HasPrefix(key, section+"::"))
		}), "%s: no example has this key", setting.Key)
	}
}

// The defaults that the pages have in words match the code.
func TestDefaultsInWords(t *testing.T) {
	assert.ElementsMatch(t, defaultScrapers, strings.Split(filledIn["scrapers"], " and "))
	assert.Equal(t, filledIn["scrapers::kubernetes_cluster::leader_election::lease_name"], (&ClusterLeaderElection{}).name())
	cfg, err := loadYAML(t, "attribution: {node_name: n1, owners: , node_labels: {labels: [a]}}")
	require.NoError(t, err)
	assert.Equal(t, kube.AuthServiceAccount, cfg.Attribution.Owners.API.AuthType)
	assert.Equal(t, kube.AuthServiceAccount, cfg.Attribution.NodeLabels.API.AuthType)
	for text, want := range map[string]string{ // must be given
		"scrapers: {kubernetes_exec: }":                                                          "scrapers::kubernetes_exec::clusters: must",
		"scrapers: {kubernetes_exec: {clusters: [{auth_type: none}]}}":                           "scrapers::kubernetes_exec::clusters::0::name: must",
		"scrapers: {kubernetes_exec: {clusters: [{name: a}], targets: [{container: b}]}}":        "scrapers::kubernetes_exec::targets::0::label_selector: must",
		"scrapers: {kubernetes_cluster: {leader_election: {lease_name: a}}}":                     "scrapers::kubernetes_cluster::leader_election::lease_namespace: must",
		"attribution: {node_name: n1, node_labels: }":                                            "attribution::node_labels: labels: must",
		"resource_attributes: {host.name: {metrics_include: [{strict: a, regexp: b}]}}":          "resource_attributes::",
		"scrapers: {kubernetes_exec: {clusters: [{name: a, auth_type: kubeConfig}], shards: 2}}": "scrapers::kubernetes_exec::leader_election::lease_namespace: must",
	} {
		_, err := loadYAML(t, text)
		require.ErrorContains(t, err, want, text)
	}
}

// Each metric of the collector itself has a row with its unit and type.
func TestOwnMetricsAreDocumented(t *testing.T) {
	want := map[string][2]string{}
	for _, file := range []string{"../metadata.yaml", "../exporter/metadata.yaml", "../exporter/kubernetes/metadata.yaml"} {
		content, err := os.ReadFile(filepath.FromSlash(file))
		require.NoError(t, err)
		var document struct {
			Telemetry struct {
				Metrics map[string]struct {
					Unit string `json:"unit"`
					Sum  any    `json:"sum"`
				} `json:"metrics"`
			} `json:"telemetry"`
		}
		require.NoError(t, yaml.Unmarshal(content, &document))
		for name, metric := range document.Telemetry.Metrics {
			want["`otelcol_"+name+"`"] = [2]string{metric.Unit, "gauge"}
			if metric.Sum != nil { // all of them are monotonic
				want["`otelcol_"+name+"`"] = [2]string{metric.Unit, "counter"}
			}
		}
	}
	documented := map[string][2]string{}
	for _, row := range reference.Read(t, "..").Tables["Metric"] {
		documented[row[0]] = [2]string{row[1], row[2]}
	}
	assert.Equal(t, want, documented)
	assert.NotEmpty(t, want)
}
