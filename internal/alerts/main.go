// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command alerts writes the alerting rules of deploy/prometheus and their copy in the Helm chart: `make rules`. alerting.rules.yaml.tmpl has the
// rules, limits.go the limits, and internal/xid the codes of GPUXID and GPUXIDMinor.
//
//	alerts ROOT
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/otelgpu/gpureceiver/internal/xid"
)

//go:embed alerting.rules.yaml.tmpl
var text string

// written are the files, below the root of the repository.
var written = []string{
	filepath.Join("deploy", "prometheus", "alerting.rules.yaml"),
	filepath.Join("deploy", "helm", "gpureceiver", "files", "rules", "alerting.rules.yaml"),
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: alerts ROOT")
		os.Exit(2)
	}
	rules, err := render()
	for _, name := range written {
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), rules, 0o600) //nolint:gosec // the checkout that the developer names
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "alerts:", err)
		os.Exit(1)
	}
}

// render returns the rules. The delimiters of the template are square brackets, because Prometheus has templates of its own in curly ones.
func render() ([]byte, error) {
	parsed, err := template.New("alerting.rules.yaml").Delims("[[", "]]").Funcs(template.FuncMap{"limit": limitOf}).Parse(text)
	if err != nil {
		return nil, err
	}
	const (
		docs    = "https://github.com/otelgpu/gpureceiver/blob/main/docs/"
		cluster = "{{ with $labels.k8s_cluster_name }} in {{ . }}{{ end }}"
	)
	common := map[string]string{
		"GPU":       "k8s_cluster_name, k8s_node_name, host_name, hw_id, hw_name, hw_model",
		"Node":      "{{ or $labels.k8s_node_name $labels.host_name }}" + cluster,
		"Machine":   "{{ with $labels.k8s_node_name }}{{ . }}" + cluster + "{{ else }}the machine of the collector {{ $labels.instance }}{{ end }}",
		"Collector": "collector {{ or $labels.instance $labels.k8s_cluster_name }}",
		"Owner": "{{ with $labels.k8s_pod_name }}{{ $labels.k8s_namespace_name }}/{{ . }}{{ else }}" +
			"{{ with $labels.slurm_job_id }}Slurm job {{ . }}{{ else }}A container without a name{{ end }}{{ end }}",
		"Device":   "{{ with $labels.k8s_container_name }}Container {{ . }}, {{ end }}{{ $labels.hw_id }}",
		"Runbooks": docs + "operate/alerts.md",
		"XIDs":     docs + "reference/events/xid-codes.md",
	}
	data := map[string]any{
		"Alarming": map[string]string{"GPU": common["GPU"], "Codes": `hw_gpu_xid=~"` + codes(alarming) + `"`},
		"Minor":    map[string]string{"GPU": common["GPU"], "Codes": `hw_gpu_xid!~"` + codes(func(e xid.Entry) bool { return !minor(e) }) + `"`},
	}
	for name, value := range common {
		data[name] = value
	}
	var rules bytes.Buffer
	err = parsed.Execute(&rules, data)
	return rules.Bytes(), err
}

// alarming reports whether an XID is one of GPUXID: the GPU, its memory or a link failed.
func alarming(e xid.Entry) bool {
	return e.Severity == xid.SeverityError || e.Severity == xid.SeverityFatal
}

// minor reports whether an XID is one of GPUXIDMinor, as a code that the catalogue does not have: the GPU works on.
func minor(e xid.Entry) bool { return e.Severity == xid.SeverityWarning && e.Cause == xid.CauseOther }

// codes returns a regular expression of the XIDs for which match returns true.
func codes(match func(xid.Entry) bool) string {
	var list []string
	for _, e := range xid.Entries() {
		if match(e) {
			list = append(list, strconv.FormatInt(e.Code, 10))
		}
	}
	return strings.Join(list, "|")
}
