{{/*
The rules for the kinds of overlays/*owner-kinds.yaml. verbs is what a shape does with them; has is what another of its roles grants already.
Only metadata is asked for.
*/}}
{{- define "gpureceiver.ownerKinds.rules" -}}
{{- if not (has "pods" .has) }}
# LeaderWorkerSet: the leader's pod owns the StatefulSet of its group. Spark: the driver's pod owns the executors.
- apiGroups: [""]
  resources: [pods]
  verbs: {{ .verbs }}
{{- end }}
# Knative and KServe have Deployments; LeaderWorkerSet and Notebook have StatefulSets.
- apiGroups: [apps]
  resources: [{{ if not (has "replicasets" .has) }}replicasets, {{ end }}deployments, statefulsets]
  verbs: {{ .verbs }}
{{- if not (has "jobs" .has) }}
# Job → CronJob, JobSet, MPIJob, RayJob.
- apiGroups: [batch]
  resources: [jobs]
  verbs: {{ .verbs }}
{{- end }}
# LeaderWorkerSet → LLMInferenceService.
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: {{ .verbs }}
# JobSet → TrainJob.
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: {{ .verbs }}
# RayCluster → RayJob, RayService.
- apiGroups: [ray.io]
  resources: [rayclusters]
  verbs: {{ .verbs }}
# Revision → Configuration → Service → InferenceService.
- apiGroups: [serving.knative.dev]
  resources: [revisions, configurations, services]
  verbs: {{ .verbs }}
# Workflow → CronWorkflow.
- apiGroups: [argoproj.io]
  resources: [workflows]
  verbs: {{ .verbs }}
# TaskRun → PipelineRun.
- apiGroups: [tekton.dev]
  resources: [taskruns]
  verbs: {{ .verbs }}
# SparkApplication → ScheduledSparkApplication.
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications]
  verbs: {{ .verbs }}
# Volcano's Job → JobFlow.
- apiGroups: [batch.volcano.sh]
  resources: [jobs]
  verbs: {{ .verbs }}
# BroadcastJob → AdvancedCronJob.
- apiGroups: [apps.kruise.io]
  resources: [broadcastjobs]
  verbs: {{ .verbs }}
{{- end }}
