{{/*
Where a release has agents of both vendors, a node with GPUs of both gets NVIDIA's alone, which reads AMD's too: no node is read
twice.
*/}}
{{- define "gpureceiver.agent.affinity" -}}
{{- $affinity := deepCopy .agent.affinity }}
{{- if and .both (eq .vendor "amd") }}
{{- if $affinity.nodeAffinity }}{{ fail "agent.affinity.nodeAffinity cannot be given with agent.nvidia and agent.amd together: use agent.nodeSelector, or a release for each" }}{{ end }}
{{- $terms := list }}
{{- range $key, $value := .agent.nvidia.nodeSelector }}
{{- $terms = append $terms (dict "matchExpressions" (list (dict "key" $key "operator" "NotIn" "values" (list $value)))) }}
{{- end }}
{{- if not $terms }}{{ fail "agent.nvidia.nodeSelector must be given with agent.nvidia and agent.amd together: without it a node would be read twice" }}{{ end }}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms)) }}
{{- end }}
{{- with .platform.label }}
{{- if $affinity.nodeAffinity }}{{ fail "agent.affinity.nodeAffinity cannot be given on this platform, whose GPU nodes it selects: use agent.nodeSelector" }}{{ end }}
{{- $term := dict "matchExpressions" (list (dict "key" . "operator" "Exists")) }}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" (list $term))) }}
{{- end }}
{{- with $affinity }}{{ toYaml . }}{{ end }}
{{- end }}
