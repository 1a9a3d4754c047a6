{{/*
The Deployment of cluster, exec and gateway. Beside root, shape and values: main (the configuration's name), overlays (those with a
ConfigMap of their own), replicas, strategy, ports, env (what the shape adds), and why (comments).
*/}}
{{- define "gpureceiver.deployment" -}}
{{- $root := .root }}
{{- $name := include "gpureceiver.name" . }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ include "gpureceiver.namespace" . }}
  labels: { {{- include "gpureceiver.labels" . -}} }
spec:
  replicas: {{ .replicas }}{{ with .why.replicas }} # {{ . }}{{ end }}
  strategy: {type: {{ .strategy }}}{{ with .why.strategy }} # {{ . }}{{ end }}
  selector:
    matchLabels: { {{- include "gpureceiver.labels" . -}} }
  template:
    metadata:
      {{- with include "gpureceiver.labels.added" . }}
      labels:
        {{ include "gpureceiver.labels" $ | replace ", " "\n" | nindent 8 | trim }}
        {{- . | trim | nindent 8 }}
      {{- else }}
      labels: { {{- include "gpureceiver.labels" $ -}} }
      {{- end }}
      {{- with include "gpureceiver.annotations" . }}{{ trim . | nindent 6 }}{{ end }}
    spec:
      serviceAccountName: {{ $name }}
      {{- if or (and (eq .shape "gateway") (not .overlays)) (and (eq .shape "exec") (eq (int .replicas) 1) (not (include "gpureceiver.exec.local" $root))) }}
      automountServiceAccountToken: false # nothing is asked of this cluster's API server
      {{- else if eq .shape "gateway" }}
      automountServiceAccountToken: true # the condition of nodes is posted
      {{- end }}
      enableServiceLinks: false
      {{- with include "gpureceiver.pod" . }}{{ trim . | nindent 6 }}{{ end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if and (gt (int .replicas) 1) .values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- range .values.topologySpreadConstraints }}
        - labelSelector:
            matchLabels: { {{- include "gpureceiver.labels" $ -}} }
          {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        {{- if not $root.Values.openshift.enabled }}
        runAsUser: 65532
        runAsGroup: 65532
        {{- if dig "queue" "enabled" false .values }}
        fsGroup: 65532 # the group that can write to the queue's volume
        {{- end }}
        {{- end }}
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: otelcol-gpu
          image: {{ include "gpureceiver.image" (merge (dict "version" $root.Chart.AppVersion) $root.Values.image) }} # built by make image; in a registry of yours: Helm's image.repository, kustomize's images
          {{- with $root.Values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
          args:
            - --feature-gates=+extension.healthcheck.useComponentStatus
            - --config=/etc/gpureceiver/{{ .main }}
            {{- with include "gpureceiver.config.args" . }}{{ trim . | nindent 12 }}{{ end }}
          env:
            {{- if or (ne .shape "gateway") .overlays }}
            - {name: K8S_CLUSTER_NAME, value: {{ quote .clusterName }}} # {{ ternary "nodes of other clusters get no condition" "k8s.cluster.name of everything sent; name yours" (eq .shape "gateway") }}
            {{- end }}
            - {name: GOMEMLIMIT, value: {{ .values.goMemLimit }}} # below limits.memory: from here on Go collects garbage rather than grow
            {{- with (include "gpureceiver.otlp" . | fromYaml).endpoint }}
            - {name: OTLP_ENDPOINT, value: {{ quote . }}} # where OTLP goes; name yours
            {{- end }}
            {{- with .env }}{{ trim . | nindent 12 }}{{ end }}
            {{- with include "gpureceiver.env" . }}{{ trim . | nindent 12 }}{{ end }}
          securityContext:
            privileged: false
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          ports:
            {{- range $port, $number := .ports }}
            - {name: {{ $port }}, containerPort: {{ $number }}}
            {{- end }}
            - {name: telemetry, containerPort: 8888}
            - {name: health, containerPort: 13133}
          livenessProbe: # not /status: a restart does not bring back {{ .why.liveness }}
            tcpSocket: {port: health}
            initialDelaySeconds: 10
            periodSeconds: 15
            timeoutSeconds: 5
          readinessProbe:
            httpGet: {path: /status, port: health}
          resources: # memory_limiter is set to {{ .why.memory }} MiB
            {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - {name: config, mountPath: /etc/gpureceiver, readOnly: true}
            {{- range .overlays }}
            - {name: {{ . }}, mountPath: /etc/gpureceiver-{{ . }}, readOnly: true}
            {{- end }}
            {{- with include "gpureceiver.storage.mounts" . }}{{ trim . | nindent 12 }}{{ end }}
      volumes:
        - name: config
          configMap: {name: {{ $name }}}
        {{- range .overlays }}
        - {name: {{ . }}, configMap: {name: {{ $name }}-{{ trimPrefix (print $.shape "-") . }}}}
        {{- end }}
        {{- with include "gpureceiver.storage.volumes" . }}{{ trim . | nindent 8 }}{{ end }}
{{- end }}
