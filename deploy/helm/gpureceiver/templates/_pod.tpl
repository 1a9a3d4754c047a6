{{/* What the pods of all shapes have in common. */}}

{{/* Environment after what each shape sets itself. */}}
{{- define "gpureceiver.env" -}}
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
