{{/*
Names. Every object of a shape is named gpureceiver-<shape>, as in deploy/kubernetes; a release of another name than gpureceiver
adds its own. The prefix stays: the policy of nodeCondition knows the accounts by it.

The helpers take a dict: root (the root context), shape (agent, cluster, exec, gateway) and values (those of the shape).
*/}}
{{- define "gpureceiver.name" -}}
{{- $release := .root.Release.Name | trimPrefix "gpureceiver" | trimPrefix "-" -}}
{{- if gt (len $release) 30 }}{{ fail (printf "the release name %s is too long: names of Kubernetes end at 63 characters; take one of at most 30" .root.Release.Name) }}{{ end -}}
{{ .root.Values.nameOverride | default "gpureceiver" }}-{{ .shape }}{{ with $release }}-{{ . }}{{ end }}
{{- end }}

{{- define "gpureceiver.namespace" -}}
{{- $default := ternary (include "gpureceiver.name" .) .root.Release.Namespace .values.namespace.create -}}
{{- $namespace := .values.namespace.name | default $default -}}
{{- if and .values.namespace.create (eq $namespace .root.Release.Namespace) }}
{{- fail (printf "the release lies in namespace %s, which it is also to make: install it into another one (-n), or set %s.namespace.create=false" $namespace .shape) }}
{{- end -}}
{{- $namespace }}
{{- end }}

{{/* Labels of a pod, and what selects it; vendor is nvidia or amd where a release has agents of both. */}}
{{- define "gpureceiver.labels" -}}
app.kubernetes.io/name: {{ include "gpureceiver.name" . }}
{{- with .vendor }}, app.kubernetes.io/component: {{ . }}{{ end }}
{{- end }}

{{/* Labels of a pod that the values add. Starts with an empty line, or is empty. */}}
{{- define "gpureceiver.labels.added" -}}
{{- with .values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The annotations of a service account. */}}
{{- define "gpureceiver.serviceaccount" -}}
{{- with .values.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "gpureceiver.image" -}}
{{- .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default .version }}{{ end }}
{{- end }}
