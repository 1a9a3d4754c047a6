{{/*
What the pods of an NVIDIA agent need on a platform, as YAML: runtimeClassName, nodeSelector, privileged, label (one that the nodes have, whatever its
value), tolerations (besides agent.tolerations), and mounts. docs/operate/platforms.md has the sources.
*/}}
{{- define "gpureceiver.agent.platform" -}}
{{- $nvidia := .Values.agent.nvidia }}
{{- $of := dict "runtimeClassName" "" "nodeSelector" $nvidia.nodeSelector "privileged" false "tolerations" list "mounts" list }}
{{- if eq .Values.platform "gke" }}
{{- $mount := dict "name" "nvidia" "path" "/usr/local/nvidia" "source" (dict "path" "/home/kubernetes/bin/nvidia" "type" "Directory") }}
{{- $of = merge (dict "label" "cloud.google.com/gke-accelerator" "privileged" true "mounts" (list $mount)) (omit $of "nodeSelector") }}
{{- else if eq .Values.platform "aks" }}
{{- $_ := set $of "nodeSelector" (dict "kubernetes.azure.com/accelerator" "nvidia") }}
{{- $_ := set $of "tolerations" (list (dict "key" "sku" "operator" "Equal" "value" "gpu" "effect" "NoSchedule")) }}
{{- else if eq .Values.platform "bottlerocket" }}
{{- $mount := dict "name" "nvidia" "path" "/var/run/nvidia-container-devices/all" "source" (dict "path" "/dev/null") }}
{{- $_ := set $of "mounts" (list $mount) }}
{{- else if ne .Values.platform "eks" }}
{{- $_ := set $of "runtimeClassName" $nvidia.runtimeClassName }}
{{- end }}
{{- toYaml $of }}
{{- end }}
