{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* What both webhook configurations say alike. Call with (list . PATH). The API server's CA for us is not among it:
memtamer (or cert-manager) writes caBundle, and what a chart never renders, an upgrade never resets. */}}
{{- define "memtamer.webhooks.common" -}}
{{- $root := index . 0 -}}
admissionReviewVersions: [v1]
clientConfig:
  service:
    name: {{ include "memtamer.webhook.name" $root }}
    namespace: {{ include "memtamer.namespace" $root }}
    path: {{ index . 1 }}
    port: {{ $root.Values.webhook.service.port }}
failurePolicy: {{ $root.Values.webhook.failurePolicy }}
matchPolicy: Equivalent
sideEffects: None
timeoutSeconds: {{ $root.Values.webhook.timeoutSeconds }}
{{- end }}

{{/* A selector: expressions of ours, and all conditions of the values besides. Call with (list OURS THEIRS). */}}
{{- define "memtamer.webhooks.selector" -}}
{{- $theirs := index . 1 }}
{{- with concat (index . 0) (default (list) $theirs.matchExpressions) }}
matchExpressions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $theirs.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Namespaces that never reach us: the label is the kill switch, and works while memtamer is dead. Cluster-scoped
objects have no namespace and always match. */}}
{{- define "memtamer.webhooks.namespaceSelector" -}}
{{- $config := default (dict) .Values.config }}
{{- $excluded := concat (list "kube-system" "kube-node-lease" (include "memtamer.namespace" .)) (default (list) .Values.webhook.excludeNamespaces) (default (list) (default (dict) $config.namespaces).exclude) }}
{{- $ours := list
  (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" (uniq $excluded))
  (dict "key" "memtamer.io/ignore" "operator" "NotIn" "values" (list "true"))
  (dict "key" "memtamer.io/mode" "operator" "NotIn" "values" (list "off")) }}
{{- include "memtamer.webhooks.selector" (list $ours .Values.webhook.namespaceSelector) }}
{{- end }}

{{/* Pods that never reach us. */}}
{{- define "memtamer.webhooks.podSelector" -}}
{{- $ours := list
  (dict "key" "memtamer.io/ignore" "operator" "NotIn" "values" (list "true"))
  (dict "key" "memtamer.io/training" "operator" "NotIn" "values" (list "false")) }}
{{- include "memtamer.webhooks.selector" (list $ours .Values.webhook.objectSelector) }}
{{- end }}

{{/* CEL: does the metadata at this place (call with its path) have the key memtamer.io/training? */}}
{{- define "memtamer.webhooks.hasTraining" -}}
(has({{ . }}.labels) && 'memtamer.io/training' in {{ . }}.labels) || (has({{ . }}.annotations) && 'memtamer.io/training' in {{ . }}.annotations)
{{- end }}

{{/* Rules for objects that make pods; call with the operations. Kinds that are not installed do no harm here. Any
version: memtamer reads the same fields of all of them. The members have the API server's order, by which a test compares
them with what the webhook reports as drift. */}}
{{- define "memtamer.webhooks.workloads" -}}
{{- $operations := . }}
{{- $kinds := dict
  "" (list "replicationcontrollers")
  "apps" (list "daemonsets" "deployments" "replicasets" "statefulsets")
  "argoproj.io" (list "clusterworkflowtemplates" "cronworkflows" "workflows" "workflowtemplates")
  "batch" (list "cronjobs" "jobs")
  "batch.volcano.sh" (list "cronjobs" "jobs")
  "jobset.x-k8s.io" (list "jobsets")
  "kubeflow.org" (list "experiments" "jaxjobs" "mpijobs" "notebooks" "paddlejobs" "pytorchjobs" "tfjobs" "trials" "xgboostjobs")
  "leaderworkerset.x-k8s.io" (list "leaderworkersets")
  "ray.io" (list "rayclusters" "raycronjobs" "rayjobs" "rayservices")
  "run.ai" (list "runaijobs")
  "sagemaker.amazonaws.com" (list "hyperpodpytorchjobs")
  "serving.knative.dev" (list "services")
  "trainer.kubeflow.org" (list "clustertrainingruntimes" "trainingruntimes" "trainjobs")
  "workload.codeflare.dev" (list "appwrappers")
}}
{{- range $group, $resources := $kinds }}
- operations: {{ toJson $operations }}
  apiGroups: [{{ $group | quote }}]
  apiVersions: ["*"]
  resources: {{ toJson $resources }}
  scope: "*"
{{- end }}
{{- end }}

{{/* A matchCondition for objects that make pods. */}}
{{- define "memtamer.webhooks.notAService" -}}
# The commonest kinds of all make no training pods unless their template says so.
- name: not-a-service
  expression: >-
    !(request.kind.group in ['', 'apps', 'serving.knative.dev']) ||
    has(object.spec) && has(object.spec.template) && has(object.spec.template.metadata) &&
    ({{ include "memtamer.webhooks.hasTraining" "object.spec.template.metadata" }})
{{- end }}
