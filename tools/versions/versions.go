// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

const (
	goModules = `go\.opentelemetry\.io/collector/[a-z/]+ `
	unstable  = `(v0\.\d+\.\d+)`
	stable    = `(v1\.\d+\.\d+)`
	number    = `(\d+\.\d+\.\d+)`
)

// versions are all that more than one file names. CHANGELOG.md keeps the versions of its time.
var versions = []version{
	{"gpureceiver", "builder-config.yaml", `(?m)^  version: ` + number + `$`, []place{
		{"builder-config-ledger.yaml", `(?m)^  version: ` + number + `$`},
		{"*.md", `otelcol-gpu[_-]` + number + `[_-][a-z0-9]`},
		{"*.md", `otelcol-gpu:` + number + `\b`},
		{"*.md", `newName: registry\.example/otelcol-gpu, newTag: ` + number},
		{"*.md", `github\.com/otelgpu/gpureceiver v` + number},
		{"test/docs/evidence.tsv", `otelcol-gpu_` + number + `_`},
		{"deploy/helm/gpureceiver/Chart.yaml", `(?m)^(?:version|appVersion): ` + number + `$`},
		{"deploy/kubernetes/*/*.yaml", `image: otelcol-gpu:` + number + `\b`},
	}},
	{"Go", "go.mod", `(?m)^go (1\.\d+)`, []place{
		{"README.md", `\[Go (1\.\d+)\]`},
		{"CONTRIBUTING.md", `Go (1\.\d+) or newer`},
		{"docs/start/install.md", `doc/install\) (1\.\d+)\b`},
		{"docs/start/existing-collector.md", `doc/install\) (1\.\d+)\b`},
	}},
	{"the Collector, unstable modules", "go.mod", `go\.opentelemetry\.io/collector/receiver/receivertest ` + unstable, []place{
		{"docs/develop/release.md", `\| Collector \| ` + unstable},
		{"builder-config-ledger.yaml", goModules + unstable},
		{"docs/start/existing-collector.md", `(?:` + goModules + `|cmd/builder@)` + unstable},
	}},
	{"the Collector, stable modules", "go.mod", `go\.opentelemetry\.io/collector/receiver ` + stable, []place{
		{"docs/develop/release.md", `\| Collector \| v[0-9.]+ / ` + stable},
		{"builder-config-ledger.yaml", goModules + stable},
		{"docs/start/existing-collector.md", goModules + stable},
	}},
	{"contrib", "builder-config.yaml", `contrib/processor/filterprocessor ` + unstable, []place{
		{"docs/develop/release.md", `\| contrib \| ` + unstable},
		{"builder-config-ledger.yaml", `collector-contrib/[a-z/]+ ` + unstable},
		{"docs/start/existing-collector.md", `collector-contrib/[a-z/]+ ` + unstable},
	}},
	{"mdatagen", "tools/go.mod", `go\.opentelemetry\.io/collector/cmd/mdatagen ` + unstable, []place{
		{"docs/develop/release.md", `\| mdatagen, ocb \| ` + unstable},
	}},
	{"k8sattributesprocessor", "builder-config.yaml", `k8sattributesprocessor ` + unstable, []place{
		{"docs/develop/release.md", "`k8sattributesprocessor` is " + unstable},
	}},
	{"Kubernetes", "go.mod", `k8s\.io/client-go ` + unstable, []place{
		{"docs/develop/release.md", `Kubernetes(?: \|)? ` + unstable},
	}},
	{"OpenTelemetry Go", "go.mod", `go\.opentelemetry\.io/otel ` + stable, []place{
		{"docs/develop/release.md", `OpenTelemetry Go \| ` + stable},
	}},
	{"Prometheus", "tools/prometheus/go.mod", `github\.com/prometheus/prometheus ` + unstable, []place{
		{"docs/develop/release.md", `Prometheus ` + unstable},
	}},
	{"Grafana's foundation SDK", "tools/go.mod", `grafana-foundation-sdk/go ` + unstable, []place{
		{"docs/develop/release.md", `foundation SDK ` + unstable},
		{"docs/operate/dashboards.md", `(?i)foundation.SDK[^|\n]* ` + unstable},
	}},
	{"go-graphviz", "tools/go.mod", `goccy/go-graphviz ` + unstable, []place{
		{"docs/develop/release.md", `go-graphviz ` + unstable},
	}},
	{"semantic conventions", "metadata.yaml", `sem_conv_version: ` + number, []place{
		{"README.md", `(?m)^\| Semantic Conventions Version \| ` + number}, // mdatagen writes it too
		{"docs/reference/metrics.md", `semantic conventions ` + number},
		{"docs/upstream.md", `the conventions ` + number},
	}},
}
