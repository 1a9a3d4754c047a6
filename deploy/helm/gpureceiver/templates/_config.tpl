{{/* The configurations of the collector, in the order in which it merges them: of two values of a key the last one counts. */}}

{{/* Configurations of the agent that come with a right or a capability: each has a ConfigMap of its own. As JSON. */}}
{{- define "gpureceiver.agent.overlays" -}}
{{- $overlays := list }}
{{- with .values }}
{{- if .kernelLog.enabled }}{{ $overlays = append $overlays "kernel-log" }}{{ end }}
{{- if .owners.enabled }}{{ $overlays = append $overlays "owners" }}{{ end }}
{{- if .ownerKinds.enabled }}{{ $overlays = append $overlays "owner-kinds" }}{{ end }}
{{- if .nodeLabels.enabled }}{{ $overlays = append $overlays "node-labels" }}{{ end }}
{{- if .kubernetesEvents.enabled }}{{ $overlays = append $overlays "kubernetes-events" }}{{ end }}
{{- if .nodeCondition.enabled }}{{ $overlays = append $overlays "node-condition" }}{{ end }}
{{- end }}
{{- toJson $overlays }}
{{- end }}

{{/* Configurations that need no right: keys of the shape's own ConfigMap after its main one. As JSON. */}}
{{- define "gpureceiver.config.added" -}}
{{- $added := list }}
{{- if .root.Values.telemetryOTLP }}{{ $added = append $added "telemetry-otlp" }}{{ end }}
{{- if and (dig "queue" "enabled" false .values) (ne .shape "gateway") }}{{ $added = append $added "persistent-queue" }}{{ end }}
{{- if dig "dcgmNames" "enabled" false .values }}{{ $added = append $added "dcgm-names" }}{{ end }}
{{- toJson $added }}
{{- end }}

{{/* A file of config/ as a key of a ConfigMap; path is its name below files/. */}}
{{- define "gpureceiver.file" -}}
{{ base .path }}: |
{{ .root.Files.Get (printf "files/%s" .path) | required (printf "files/%s is missing" .path) | trimSuffix "\n" | indent 2 }}
{{- end }}

{{/* The main configuration of a shape: its file, and without OTLP what the file has besides OTLP. */}}
{{- define "gpureceiver.config.main" -}}
{{- if .root.Values.otlp.enabled }}
{{- include "gpureceiver.file" (dict "root" .root "path" .main) }}
{{- else }}
{{- $config := .root.Files.Get (printf "files/%s" .main) | fromYaml }}
{{- $_ := unset $config.exporters "otlp_grpc" }}
{{- $_ := unset $config.processors "transform/service" }}
{{- range $name := list "metrics" "logs" }}{{ $_ := unset $config.service.pipelines $name }}{{ end }}
{{- .main }}: |
{{ toYaml $config | indent 2 }}
{{- end }}
{{- end }}

{{/* The data of a shape's ConfigMap. */}}
{{- define "gpureceiver.config.data" -}}
{{ include "gpureceiver.config.main" . }}
{{- range include "gpureceiver.config.added" . | fromJsonArray }}
{{ include "gpureceiver.file" (dict "root" $.root "path" (printf "overlays/%s.yaml" .)) }}
{{- end }}
{{- with include "gpureceiver.options" . }}
options.yaml: |
{{ . | indent 2 }}
{{- end }}
{{- end }}

{{/* The arguments that name what follows the main configuration. */}}
{{- define "gpureceiver.config.args" -}}
{{- range .overlays }}
- --config=/etc/gpureceiver-{{ . }}/{{ . }}.yaml
{{- end }}
{{- range include "gpureceiver.config.added" . | fromJsonArray }}
- --config=/etc/gpureceiver/{{ . }}.yaml
{{- end }}
{{- if include "gpureceiver.options" . }}
- --config=/etc/gpureceiver/options.yaml
{{- end }}
{{- end }}

{{/* The pods' annotations. A changed configuration changes them, and so restarts the pods. */}}
{{- define "gpureceiver.annotations" -}}
{{- $annotations := deepCopy .values.podAnnotations }}
{{- if .root.Values.restartOnConfigChange }}
{{- $text := include "gpureceiver.config.data" . }}
{{- range .overlays }}
{{- $text = print $text "\n" ($.root.Files.Get (printf "files/overlays/%s.yaml" .)) }}
{{- end }}
{{- $_ := set $annotations "checksum/config" (sha256sum $text) }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
