{{/* What replicas share: the number of shards, a Lease for each, and a name of their own in the Leases and in their telemetry. */}}
{{- define "gpureceiver.exec.shards" -}}
- {name: GPU_SHARDS, value: {{ quote .Values.exec.shards }}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- end }}

{{/* Whether it reads the cluster that it runs in: yes, or nothing. Without it needs no right there. */}}
{{- define "gpureceiver.exec.local" -}}
{{- $local := not .Values.exec.clusters }}
{{- range .Values.exec.clusters }}
{{- if not .endpoint }}{{ $local = true }}{{ end }}
{{- end }}
{{- if $local }}yes{{ end }}
{{- end }}
