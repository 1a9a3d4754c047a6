// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// prometheusOperator is the source of the schemas of PodMonitor and PrometheusRule.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"

// What the chart makes is valid by the schemas of Kubernetes and of the Prometheus operator, with no unknown field. kubeconform takes no schema
// from the network here: they are written from the API's description in the module of Kubernetes that the end-to-end test builds.
func TestChartIsValid(t *testing.T) {
	t.Parallel()
	program := os.Getenv("KUBECONFORM")
	if program == "" {
		t.Skip("KUBECONFORM does not name the program: make test-deploy builds it")
	}
	schemas := t.TempDir()
	writeSchemas(t, schemas)
	check := func(manifest []byte) (string, error) {
		command := exec.CommandContext(t.Context(), program, "-strict", "-summary", "-verbose", "-skip", "SecurityContextConstraints",
			"-schema-location", filepath.Join(schemas, "{{ .ResourceKind }}{{ .KindSuffix }}.json"))
		command.Stdin = bytes.NewReader(manifest)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for name, values := range examples(t) {
		out, err := check(render(t, values))
		require.NoError(t, err, "%s: %s", name, out)
		assert.Contains(t, out, "Invalid: 0, Errors: 0")
	}
	out, err := check([]byte("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {}, template: {spec: {hostPiD: true, containers: []}}}"))
	require.Error(t, err, "an unknown field is refused")
	assert.Contains(t, out, "hostPiD")
}

// writeSchemas writes a schema for each kind that the chart makes, as kubeconform names them.
func writeSchemas(t *testing.T, directory string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(module(t, filepath.Join(root, "test", "kubernetes", "build", "kubernetes"), "k8s.io/kubernetes"), "api", "openapi-spec", "swagger.json"))
	require.NoError(t, err)
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	require.NoError(t, json.Unmarshal(text, &api))
	for _, definition := range api.Definitions {
		strict(definition)
	}
	api.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = map[string]any{"type": []string{"string", "integer"}}
	api.Definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = map[string]any{"type": []string{"string", "number"}}
	for file, name := range map[string]string{
		"namespace-v1": "core.v1.Namespace", "serviceaccount-v1": "core.v1.ServiceAccount", "configmap-v1": "core.v1.ConfigMap", "service-v1": "core.v1.Service",
		"daemonset-apps-v1": "apps.v1.DaemonSet", "deployment-apps-v1": "apps.v1.Deployment",
		"clusterrole-rbac-v1": "rbac.v1.ClusterRole", "clusterrolebinding-rbac-v1": "rbac.v1.ClusterRoleBinding",
		"role-rbac-v1": "rbac.v1.Role", "rolebinding-rbac-v1": "rbac.v1.RoleBinding",
		"poddisruptionbudget-policy-v1": "policy.v1.PodDisruptionBudget", "networkpolicy-networking-v1": "networking.v1.NetworkPolicy",
		"validatingadmissionpolicy-admissionregistration-v1":        "admissionregistration.v1.ValidatingAdmissionPolicy",
		"validatingadmissionpolicybinding-admissionregistration-v1": "admissionregistration.v1.ValidatingAdmissionPolicyBinding",
	} {
		require.Contains(t, api.Definitions, "io.k8s.api."+name)
		writeJSON(t, filepath.Join(directory, file+".json"), map[string]any{"$ref": "#/definitions/io.k8s.api." + name, "definitions": api.Definitions})
	}
	operator := module(t, t.TempDir(), prometheusOperator)
	for _, kind := range []string{"podmonitor", "prometheusrule"} {
		text, err := os.ReadFile(filepath.Join(operator, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+"s.yaml"))
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						V3 map[string]any `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		require.NoError(t, yaml.Unmarshal(text, &crd))
		require.NotEmpty(t, crd.Spec.Versions)
		strict(crd.Spec.Versions[0].Schema.V3)
		writeJSON(t, filepath.Join(directory, kind+"-monitoring-v1.json"), crd.Spec.Versions[0].Schema.V3)
	}
}

// module returns the directory of a module's source, as a go.mod requires it or at the version that is given.
func module(t *testing.T, directory, name string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", name)
	command.Dir = directory
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.Output()
	var answer struct{ Dir, Error string }
	_ = json.Unmarshal(out, &answer)
	if err != nil {
		t.Skipf("%s cannot be had: what the chart makes was not compared with schemas: %s %v", name, answer.Error, err)
	}
	return answer.Dir
}

// strict refuses unknown fields of objects whose fields are known.
func strict(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		if properties, ok := schema["properties"].(map[string]any); ok && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] == nil {
			schema["additionalProperties"] = false
			for _, property := range properties {
				strict(property)
			}
			return
		}
		for _, key := range []string{"items", "additionalProperties"} {
			strict(schema[key])
		}
		if properties, ok := schema["properties"].(map[string]any); ok {
			for _, property := range properties {
				strict(property)
			}
		}
	case []any:
		for _, item := range schema {
			strict(item)
		}
	}
}

func writeJSON(t *testing.T, path string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

// The collector itself accepts the configurations, merged in the order of the pod's arguments.
func TestChartConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	collector := os.Getenv("OTELCOL_GPU")
	if collector == "" {
		t.Skip("OTELCOL_GPU does not name the built collector: make test-deploy does")
	}
	for name, values := range examples(t) {
		objects := rendered(t, values)
		for i := range objects {
			pod := objects[i].pod()
			if pod == nil {
				continue
			}
			t.Run(name+"/"+objects[i].GetName(), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				local := func(text string) string {
					return strings.NewReplacer("/etc/gpureceiver", dir+"/gpureceiver", "/var/lib/otelcol-gpu", dir+"/queue").Replace(text)
				}
				args := []string{"validate"}
				for _, arg := range pod.Containers[0].Args {
					path, ok := strings.CutPrefix(arg, "--config=")
					if !ok {
						args = append(args, arg)
						continue
					}
					data := mounted(objects, pod, filepath.Dir(path))
					require.Contains(t, data, filepath.Base(path))
					require.NoError(t, os.MkdirAll(filepath.Dir(local(path)), 0o700))
					require.NoError(t, os.WriteFile(local(path), []byte(local(data[filepath.Base(path)])), 0o600))
					args = append(args, "--config="+local(path))
				}
				for _, volume := range pod.Volumes { // files that are named must be there
					if volume.Secret == nil && volume.Projected == nil && volume.Name != "queue" {
						continue
					}
					for _, mount := range pod.Containers[0].VolumeMounts {
						if mount.Name == volume.Name && strings.HasPrefix(local(mount.MountPath), dir) {
							writeSecret(t, local(mount.MountPath))
						}
					}
				}
				command := exec.CommandContext(t.Context(), collector, args...)
				for _, e := range pod.Containers[0].Env {
					command.Env = append(command.Env, e.Name+"="+valueOf(e.Name, e.Value))
				}
				out, err := command.CombinedOutput()
				require.NoError(t, err, string(out))
			})
		}
	}
}

// valueOf is a variable's value, or one in place of what Kubernetes would put there.
func valueOf(name, value string) string {
	switch {
	case value != "":
		return value
	case name == "OTLP_HEADERS":
		return "{authorization: Bearer none}"
	case strings.HasPrefix(name, "K8S_CLUSTER"):
		return ""
	}
	return "given"
}

// writeSecret writes the files of a Secret: a certificate, its key, and a token.
func writeSecret(t *testing.T, directory string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(directory, 0o700))
	certificate, key := selfSigned(t)
	for name, text := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": certificate, "token": []byte("none")} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), text, 0o600))
	}
}

func selfSigned(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}
