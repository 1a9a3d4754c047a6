{{/*
What the values say, as a configuration: the last one, so that it counts, and <shape>.config over it. Nothing where they say nothing.
A list replaces the one of the main configuration.
*/}}
{{- define "gpureceiver.options" -}}
{{- $options := dict }}
{{- $otlp := include "gpureceiver.otlp" . | fromYaml }}
{{- $tls := dict }}
{{- with $otlp.ca }}{{ $_ := set $tls "ca_file" "/etc/gpureceiver-otlp-ca/ca.crt" }}{{ end }}
{{- with $otlp.clientCertificate }}
{{- $_ := set $tls "cert_file" "/etc/gpureceiver-otlp-client/tls.crt" }}
{{- $_ := set $tls "key_file" "/etc/gpureceiver-otlp-client/tls.key" }}
{{- $_ := set $tls "reload_interval" "1m" }}
{{- end }}
{{- with $tls }}{{ $_ := set $options "exporters" (dict "otlp_grpc" (dict "tls" .)) }}{{ end }}
{{- if and .root.Values.telemetryOTLP (not $otlp.insecure) }}
{{- $exporter := dict "protocol" "grpc" "endpoint" (printf "https://%s" $otlp.endpoint) "insecure" false }}
{{- with $otlp.ca }}{{ $_ := set $exporter "certificate" "/etc/gpureceiver-otlp-ca/ca.crt" }}{{ end }}
{{- with $otlp.clientCertificate }}
{{- $_ := set $exporter "client_certificate" "/etc/gpureceiver-otlp-client/tls.crt" }}
{{- $_ := set $exporter "client_key" "/etc/gpureceiver-otlp-client/tls.key" }}
{{- end }}
{{- with $otlp.headersSecret }}{{ $_ := set $exporter "headers" "${env:OTLP_HEADERS}" }}{{ end }}
{{- $reader := dict "periodic" (dict "interval" 30000 "timeout" 5000 "exporter" (dict "otlp" $exporter)) }}
{{- $_ := set $options "service" (dict "telemetry" (dict "metrics" (dict "readers" (list $reader)))) }}
{{- end }}
{{- if dig "metricsTLS" "secretName" "" .values }}
{{- $files := dict "cert_file" "/etc/gpureceiver-metrics-tls/tls.crt" "key_file" "/etc/gpureceiver-metrics-tls/tls.key" "reload_interval" "1m" }}
{{- $options = mergeOverwrite $options (dict "exporters" (dict "prometheus" (dict "tls" $files))) }}
{{- end }}
{{- if and (eq .shape "cluster") (gt (int .values.replicas) 1) (ne (include "gpureceiver.namespace" .) "gpureceiver-cluster") }}
{{- $election := dict "lease_namespace" (include "gpureceiver.namespace" .) }}
{{- $options = mergeOverwrite $options (dict "receivers" (dict "gpu" (dict "scrapers" (dict "kubernetes_cluster" (dict "leader_election" $election))))) }}
{{- end }}
{{- with dig "owners" "labels" list .values }}
{{- $options = mergeOverwrite $options (dict "receivers" (dict "gpu" (dict "attribution" (dict "owners" (dict "labels" .))))) }}
{{- end }}
{{- if eq .shape "exec" }}{{ $options = mergeOverwrite $options (include "gpureceiver.options.exec" . | fromYaml) }}{{ end }}
{{- if eq .shape "gateway" }}{{ $options = mergeOverwrite $options (include "gpureceiver.options.gateway" . | fromYaml) }}{{ end }}
{{- $options = mergeOverwrite $options (deepCopy .values.config) }}
{{- with $options }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* Which clusters are read from outside, and what in them. */}}
{{- define "gpureceiver.options.exec" -}}
{{- $scraper := dict }}
{{- $clusters := list }}
{{- range $i, $cluster := .values.clusters }}
{{- $c := omit $cluster "tokenSecret" "caSecret" }}
{{- with $cluster.tokenSecret }}{{ $_ := set $c "token_file" (printf "/etc/gpureceiver-clusters/%d/token" $i) }}{{ end }}
{{- with $cluster.caSecret }}{{ $_ := set $c "ca_file" (printf "/etc/gpureceiver-clusters/%d/ca.crt" $i) }}{{ end }}
{{- if not $cluster.endpoint }}{{ $_ := set $c "auth_type" "serviceAccount" }}{{ end }}
{{- $clusters = append $clusters $c }}
{{- end }}
{{- with $clusters }}{{ $_ := set $scraper "clusters" . }}{{ end }}
{{- with .values.targets }}{{ $_ := set $scraper "targets" . }}{{ end }}
{{- with .values.nodes }}{{ $_ := set $scraper "node_selector" . }}{{ end }}
{{- with .values.maxConcurrent }}{{ $_ := set $scraper "max_concurrent" (int .) }}{{ end }}
{{- if not .values.attributePods }}{{ $_ := set $scraper "attribute_pods" false }}{{ end }}
{{- with $scraper }}{{ toYaml (dict "receivers" (dict "gpu" (dict "scrapers" (dict "kubernetes_exec" .)))) }}{{ end }}
{{- end }}

{{/*
The gateway's certificate as in overlays/mtls-gateway.yaml, and its queue on disk: overlays/persistent-queue.yaml is for collectors that read GPUs.
Certificates are checked when a connection begins, and gRPC's would last for ever.
*/}}
{{- define "gpureceiver.options.gateway" -}}
{{- if .values.tls.secretName }}
{{- $files := dict "cert_file" "/etc/gpureceiver-tls/tls.crt" "key_file" "/etc/gpureceiver-tls/tls.key" "reload_interval" "1m" }}
{{- if .values.tls.clientCA }}
{{- $_ := set $files "client_ca_file" "/etc/gpureceiver-tls/ca.crt" }}
{{- $_ := set $files "client_ca_file_reload" true }}
{{- end }}
{{- $age := dict "max_connection_age" "1h" "max_connection_age_grace" "1m" }}
{{- $protocols := dict "grpc" (dict "tls" $files "keepalive" (dict "server_parameters" $age)) "http" (dict "tls" $files) }}
receivers:
  otlp:
    protocols:
      {{- toYaml $protocols | nindent 6 }}
{{- end }}
{{- if .values.queue.enabled }}
extensions:
  file_storage/queue:
    directory: /var/lib/otelcol-gpu
    compaction: {on_start: true, cleanup_on_start: true, directory: /var/lib/otelcol-gpu}
exporters:
  otlp_grpc:
    sending_queue: {storage: file_storage/queue, sizer: bytes, queue_size: {{ int64 .values.queue.bytes }}, num_consumers: 1}
    retry_on_failure: {max_elapsed_time: 0s}
service:
  extensions: [health_check, file_storage/queue]
{{- end }}
{{- end }}

{{/* Where a shape sends, as YAML: to the release's gateway if there is one; no endpoint if otlp.enabled is false. */}}
{{- define "gpureceiver.otlp" -}}
{{- $gateway := .root.Values.gateway }}
{{- if not .root.Values.otlp.enabled }}
insecure: true
{{- else if and $gateway.enabled (ne .shape "gateway") }}
{{- $c := dict "root" .root "shape" "gateway" "values" $gateway }}
endpoint: {{ include "gpureceiver.name" $c }}.{{ include "gpureceiver.namespace" $c }}.svc:4317
insecure: {{ not $gateway.tls.secretName }}
{{- if $gateway.tls.secretName }}
ca: {{ toJson $gateway.tls.ca }}
{{- with $gateway.tls.clientCertificate }}
clientCertificate: {{ . }}
{{- end }}
{{- end }}
{{- else }}
{{- with .root.Values.otlp }}
endpoint: {{ quote .endpoint }}
insecure: {{ .insecure }}
{{- if .headersSecret.name }}
headersSecret: {{ toJson .headersSecret }}
{{- end }}
{{- if .ca.secretName }}
ca: {{ toJson .ca }}
{{- end }}
{{- with .clientCertificate.secretName }}
clientCertificate: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
