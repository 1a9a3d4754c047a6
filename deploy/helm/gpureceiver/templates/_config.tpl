{{/* The configurations of the collector, in the order in which it merges them: of two values of a key the last one counts. */}}

{{/* Configurations of the agent that come with a right or a capability: each has a ConfigMap of its own. As JSON. */}}
{{- define "gpureceiver.agent.parts" -}}
{{- $parts := list }}
{{- with .values }}
{{- if .kernelLog.enabled }}{{ $parts = append $parts "kernel-log" }}{{ end }}
{{- if .owners.enabled }}{{ $parts = append $parts "owners" }}{{ end }}
{{- if .nodeLabels.enabled }}{{ $parts = append $parts "node-labels" }}{{ end }}
{{- if .kubernetesEvents.enabled }}{{ $parts = append $parts "kubernetes-events" }}{{ end }}
{{- if .nodeCondition.enabled }}{{ $parts = append $parts "node-condition" }}{{ end }}
{{- end }}
{{- toJson $parts }}
{{- end }}

{{/* A file of config/ as a key of a ConfigMap; path is its name below files/. */}}
{{- define "gpureceiver.file" -}}
{{ base .path }}: |
{{ .root.Files.Get (printf "files/%s" .path) | required (printf "files/%s is missing" .path) | trimSuffix "\n" | indent 2 }}
{{- end }}

{{/* The keys of a shape's ConfigMap after its main configuration. */}}
{{- define "gpureceiver.config.more" -}}
{{- if .root.Values.telemetryOTLP }}
{{ include "gpureceiver.file" (dict "root" .root "path" "parts/telemetry-otlp.yaml") }}
{{- end }}
{{- with include "gpureceiver.options" . }}
options.yaml: |
{{ . | indent 2 }}
{{- end }}
{{- end }}

{{/* The arguments that name them. */}}
{{- define "gpureceiver.config.args" -}}
{{- if .root.Values.telemetryOTLP }}
- --config=/etc/gpureceiver/telemetry-otlp.yaml
{{- end }}
{{- if include "gpureceiver.options" . }}
- --config=/etc/gpureceiver/options.yaml
{{- end }}
{{- end }}

{{/* What the values say, as a configuration: the last one, so that it counts. Nothing where they say nothing. */}}
{{- define "gpureceiver.options" -}}
{{- with .values.config }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The pods' annotations. A changed configuration changes them, and so restarts the pods. */}}
{{- define "gpureceiver.annotations" -}}
{{- $annotations := deepCopy .values.podAnnotations }}
{{- if .root.Values.restartOnConfigChange }}
{{- $files := list (include "gpureceiver.options" .) (toJson .parts) }}
{{- range concat (list .main) (ternary (list "parts/telemetry-otlp.yaml") list .root.Values.telemetryOTLP) }}
{{- $files = append $files ($.root.Files.Get (printf "files/%s" .)) }}
{{- end }}
{{- range .parts }}
{{- $files = append $files ($.root.Files.Get (printf "files/parts/%s.yaml" .)) }}
{{- end }}
{{- $_ := set $annotations "checksum/config" (join "\n" $files | sha256sum) }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
