// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// examples are the values of testdata/helm by their names. Each starts with a comment on what it shows.
func examples(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "helm", "*.values.yaml"))
	require.NoError(t, err)
	got := map[string]string{}
	for _, path := range paths {
		values, err := os.ReadFile(path)
		require.NoError(t, err)
		got[strings.TrimSuffix(filepath.Base(path), ".values.yaml")] = string(values)
	}
	require.NotEmpty(t, got)
	return got
}

var (
	checksum = regexp.MustCompile(`checksum/config: [0-9a-f]{64}`)
	groups   = regexp.MustCompile(`(?s)\n  groups:\n.*?(\n---\n|$)`)
)

// shortened takes out of a manifest what is compared elsewhere and changes with every configuration: the shipped files, their checksums, and rules.
func shortened(t *testing.T, manifest []byte) string {
	t.Helper()
	short := string(manifest)
	for name, path := range shipped(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var indented strings.Builder
		for line := range strings.Lines(string(text)) {
			indented.WriteString("    " + line)
		}
		short = strings.ReplaceAll(short, ": |\n"+indented.String(), ": files/"+filepath.ToSlash(name)+"\n")
	}
	short = checksum.ReplaceAllString(short, "checksum/config: of the configuration")
	return groups.ReplaceAllString(short, "\n  groups: those of deploy/prometheus$1")
}

// What the chart makes of several values files: `go test ./test/deploy -update` writes the golden files.
func TestChartGolden(t *testing.T) {
	t.Parallel()
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shortened(t, render(t, values))
			path := filepath.Join("testdata", "helm", name+".golden.yaml")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "run `go test ./test/deploy -update`")
		})
	}
}

// The operator's rules are the rules of deploy/prometheus.
func TestChartRules(t *testing.T) {
	t.Parallel()
	type rules struct {
		Groups []any `json:"groups"`
	}
	var want []any
	for _, name := range []string{"recording.rules.yaml", "alerting.rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", name))
		require.NoError(t, err)
		var file rules
		require.NoError(t, yaml.Unmarshal(text, &file))
		require.NotEmpty(t, file.Groups)
		want = append(want, file.Groups...)
	}
	var got struct {
		Spec rules `json:"spec"`
	}
	text := byTemplate(render(t, "prometheusRule: {enabled: true}"))["monitoring/prometheusrule.yaml"]
	require.NoError(t, yaml.Unmarshal([]byte(text), &got))
	assert.Equal(t, want, got.Spec.Groups)
}

// Wrong values are refused, with their names.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"agnt: {enabled: true}":                                "'agnt' not allowed",
		"agent: {owners: true}":                                "/agent/owners",
		"agent: {nvidia: {enabled: maybe}}":                    "/agent/nvidia/enabled",
		"agent: {resources: {limits: {memory: null}}}":         "/agent/resources/limits",
		"agent: {maxUnavailable: 0}":                           "/agent/maxUnavailable",
		"agent: {extraEnv: [{value: x}]}":                      "/agent/extraEnv/0",
		"agent: {queue: {bytes: 1}}":                           "/agent/queue/bytes",
		"agent: {goMemLimit: 250Mi}":                           "/agent/goMemLimit",
		"agent: {namespace: {name: Not_A_Name}}":               "/agent/namespace/name",
		"logLevel: loud":                                       "/logLevel",
		"collectionInterval: 10":                               "/collectionInterval",
		"otlp: {endpoint: 'https://backend.example'}":          "/otlp/endpoint",
		"otlp: {headers: {authorization: secret}}":             "'headers' not allowed",
		"image: {digest: latest}":                              "/image/digest",
		"image: {pullPolicy: Sometimes}":                       "/image/pullPolicy",
		"cluster: {replicas: 0}":                               "/cluster/replicas",
		"exec: {replicas: 0}":                                  "/exec/replicas",
		"exec: {targets: [{tool: nvidia-smi}]}":                "/exec/targets/0",
		"exec: {clusters: [{endpoint: 'https://a'}]}":          "/exec/clusters/0",
		"exec: {clusters: [{name: a, token: secret}]}":         "/exec/clusters/0",
		"exec: {driverPods: {namespaces: gpu-operator}}":       "/exec/driverPods/namespaces",
		"gateway: {topologySpreadConstraints: [{maxSkew: 1}]}": "/gateway/topologySpreadConstraints/0",

		"otlp: {endpoint: ''}":                                                      "otlp.endpoint is empty: set it, or set otlp.enabled=false",
		"otlp: {enabled: false}\ngateway: {enabled: true}":                          "exec and gateway need otlp.enabled",
		"otlp: {enabled: false}\ntelemetryOTLP: true":                               "telemetryOTLP needs otlp.enabled",
		"otlp: {enabled: false}\nagent: {queue: {enabled: true}}":                   "agent.queue needs otlp.enabled",
		"otlp: {enabled: false}\ncluster: {enabled: true, events: {enabled: true}}": "cluster.events needs otlp.enabled",
		"platform: gkee": "/platform",
		"platform: gke":  "platform=gke changes only NVIDIA's agents: set agent.nvidia.enabled=true",
		"platform: gke\nagent: {nvidia: {enabled: true}, amd: {enabled: true}}":                                  "use a release for each vendor",
		"platform: gke\nagent: {nvidia: {enabled: true}, affinity: {nodeAffinity: {requiredDuringX: {a: [b]}}}}": "cannot be given on this platform",
		"nameOverride: gpu\nagent: {nodeCondition: {enabled: true, policy: {enabled: true}}}":                    "agent.nodeCondition.policy knows the account by its namespace",
		"agent: {enabled: false}":                                                                                                    "nothing is enabled",
		"agent: {ownerKinds: {enabled: true}}":                                                                                       "agent.ownerKinds needs agent.owners",
		"exec: {enabled: true, attributePods: false, ownerKinds: {enabled: true}}":                                                   "exec.ownerKinds needs exec.attributePods",
		"agent: {queue: {enabled: true}, k8sAttributes: {enabled: true}}":                                                            "do not go together",
		"agent: {queue: {enabled: true, volume: {persistentVolumeClaim: {claimName: a}}}}":                                           "agents cannot share one claim",
		"exec: {enabled: true, replicas: 3, queue: {enabled: true, volume: {persistentVolumeClaim: {claimName: a}}}}":                "replicas cannot share one claim",
		"exec: {enabled: true, replicas: 7}":                                                                                         "exec.shards is 6",
		"gateway: {enabled: true, tls: {secretName: a}}":                                                                             "gateway.tls.ca.secretName",
		"agent: {namespace: {name: default}}":                                                                                        "the release lies in namespace default",
		"agent: {namespace: {create: false}, nodeCondition: {enabled: true, policy: {enabled: true}}}":                               "must begin with gpureceiver-agent",
		"gateway: {enabled: true, namespace: {create: false}, nodeCondition: {enabled: true, policy: {enabled: true}}}":              "must begin with gpureceiver-gateway",
		"gateway: {enabled: true, replicas: 2, nodeCondition: {enabled: true}}":                                                      "needs one replica",
		"agent: {nodeCondition: {enabled: true}}\ngateway: {enabled: true, nodeCondition: {enabled: true}}":                          "enable one",
		"agent: {nvidia: {enabled: true, nodeSelector: null}, amd: {enabled: true}}":                                                 "a node would be read twice",
		"agent: {nvidia: {enabled: true}, amd: {enabled: true}, affinity: {nodeAffinity: {requiredDuringSchedulingX: {a: [b, c]}}}}": "agent.affinity.nodeAffinity cannot be given",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			out, err := runHelm(t, values, "template", "gpureceiver", chart, "--kube-version", kubernetesVersion, "-f", "-")
			require.Error(t, err)
			assert.Contains(t, string(out), want)
		})
	}
}

// Every value has a comment, or one beside the key above it, and the schema has every value and no other.
func TestChartValuesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)
	var commented []bool // by depth: whether the key, or what it is in, is explained
	above := false
	for line := range bytes.Lines(text) {
		trimmed := strings.TrimLeft(string(line), " -")
		key, _, isKey := strings.Cut(trimmed, ":")
		switch {
		case strings.HasPrefix(trimmed, "#"):
			above = true
		case isKey && !strings.HasPrefix(strings.TrimSpace(string(line)), "-"):
			depth := (len(line) - len(trimmed)) / 2
			explained := above || strings.Contains(trimmed, " # ")
			section := strings.TrimSpace(trimmed) == key+":" // each of its values is explained
			within := depth > 1 && commented[depth-1]
			assert.True(t, explained || section || within, "a value without a comment: %s", trimmed)
			commented = append(commented[:depth], explained || within)
			above = false
		default:
			above = false
		}
	}
	var values map[string]any
	require.NoError(t, yaml.UnmarshalStrict(text, &values))
	raw, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, yaml.UnmarshalStrict(raw, &schema))
	definitions, ok := schema["definitions"].(map[string]any)
	require.True(t, ok)
	delete(schema["properties"].(map[string]any), "global") // Helm's own
	compareSchema(t, "", definitions, schema, values)
}

// compareSchema descends if the schema knows the names of values.
func compareSchema(t *testing.T, path string, definitions, schema, values map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	require.True(t, ok, path)
	assert.Equal(t, false, schema["additionalProperties"], "%s: any name is taken", path)
	if path == ".resources" || strings.HasSuffix(path, ".resources") {
		return
	}
	assert.Equal(t, slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(values)), path)
	for name, value := range values {
		property, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		if ref, ok := property["$ref"].(string); ok {
			property, ok = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
			require.True(t, ok, ref)
		}
		if inner, ok := value.(map[string]any); ok && property["properties"] != nil {
			compareSchema(t, path+"."+name, definitions, property, inner)
		}
	}
}
