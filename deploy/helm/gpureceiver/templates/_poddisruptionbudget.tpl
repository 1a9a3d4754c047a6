{{/* What a drain may take of a shape with several replicas. Beside root, shape and values: why (a comment). */}}
{{- define "gpureceiver.poddisruptionbudget" -}}
{{- if and .values.enabled (gt (int .values.replicas) 1) .values.podDisruptionBudget.enabled }}
# {{ .why }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "gpureceiver.name" . }}
  namespace: {{ include "gpureceiver.namespace" . }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels: { {{- include "gpureceiver.labels" . -}} }
{{- end }}
{{- end }}
