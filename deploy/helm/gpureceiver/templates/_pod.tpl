{{/* What the pods of all shapes have in common. Each helper starts with an empty line, or is empty. */}}

{{/* Environment after what each shape sets itself. */}}
{{- define "gpureceiver.env" -}}
{{- $otlp := include "gpureceiver.otlp" . | fromYaml }}
{{- if not $otlp.insecure }}
- {name: OTLP_INSECURE, value: "false"}
{{- end }}
{{- with $otlp.headersSecret }}
- name: OTLP_HEADERS
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
{{- end }}
{{- if and (dig "queue" "enabled" false .values) (ne .shape "gateway") }}
- {name: OTELCOL_GPU_QUEUE_BYTES, value: "{{ int64 .values.queue.bytes }}"}
{{- end }}
{{- with .root.Values.collectionInterval }}
- {name: COLLECTION_INTERVAL, value: {{ quote . }}}
{{- end }}
{{- with .root.Values.logLevel }}
- {name: LOG_LEVEL, value: {{ quote . }}}
{{- end }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Existing Secrets, as files, and the queue: name, folder and source of each volume. As YAML. */}}
{{- define "gpureceiver.storage" -}}
{{- $otlp := include "gpureceiver.otlp" . | fromYaml }}
{{- with $otlp.ca }}
- {name: otlp-ca, path: /etc/gpureceiver-otlp-ca, source: {secret: {secretName: {{ .secretName }}, items: [{key: {{ .key }}, path: ca.crt}]}}}
{{- end }}
{{- with $otlp.clientCertificate }}
- {name: otlp-client, path: /etc/gpureceiver-otlp-client, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with dig "metricsTLS" "secretName" "" .values }}
- {name: metrics-tls, path: /etc/gpureceiver-metrics-tls, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with dig "tls" "secretName" "" .values }}
- {name: tls, path: /etc/gpureceiver-tls, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- range $i, $cluster := .values.clusters }}
{{- if or $cluster.tokenSecret $cluster.caSecret }}
- name: cluster-{{ $i }}
  path: /etc/gpureceiver-clusters/{{ $i }}
  source:
    projected:
      sources:
        {{- with $cluster.tokenSecret }}
        - secret: {name: {{ .name }}, items: [{key: {{ .key | default "token" }}, path: token}]}
        {{- end }}
        {{- with $cluster.caSecret }}
        - secret: {name: {{ .name }}, items: [{key: {{ .key | default "ca.crt" }}, path: ca.crt}]}
        {{- end }}
{{- end }}
{{- end }}
{{- range $i, $mount := .values.secretMounts }}
- {name: secret-{{ $i }}, path: {{ $mount.mountPath }}, source: {secret: {secretName: {{ $mount.secretName }}}}}
{{- end }}
{{- if dig "queue" "enabled" false .values }}
- name: queue
  path: /var/lib/otelcol-gpu
  write: true
  source:
    {{- $empty := dict "emptyDir" (dict "sizeLimit" (printf "%dMi" (div (int64 .values.queue.bytes) 524288))) }}
    {{- toYaml (.values.queue.volume | default $empty) | nindent 4 }}
{{- end }}
{{- end }}

{{- define "gpureceiver.storage.mounts" -}}
{{- range include "gpureceiver.storage" . | fromYamlArray }}
- {name: {{ .name }}, mountPath: {{ .path }}{{ if not .write }}, readOnly: true{{ end }}}
{{- end }}
{{- end }}

{{- define "gpureceiver.storage.volumes" -}}
{{- range include "gpureceiver.storage" . | fromYamlArray }}
- name: {{ .name }}
  {{- toYaml .source | nindent 2 }}
{{- end }}
{{- end }}

{{- define "gpureceiver.pod" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
