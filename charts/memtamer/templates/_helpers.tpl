{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Names. Other names get at most "-recommender-metrics" appended and must stay below 63 characters. */}}
{{- define "memtamer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "memtamer.fullname" -}}
{{- $name := include "memtamer.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Where memtamer is. A parent chart, or a tool that renders charts, may have a namespace of its own. */}}
{{- define "memtamer.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "memtamer.webhook.name" -}}
{{ include "memtamer.fullname" . }}-webhook
{{- end }}

{{- define "memtamer.recommender.name" -}}
{{ include "memtamer.fullname" . }}-recommender
{{- end }}

{{- define "memtamer.config.name" -}}
{{ include "memtamer.fullname" . }}-config
{{- end }}

{{- define "memtamer.webhook.serviceAccountName" -}}
{{- if .Values.webhook.serviceAccount.create }}
{{- default (include "memtamer.webhook.name" .) .Values.webhook.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.webhook.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "memtamer.recommender.serviceAccountName" -}}
{{- if .Values.recommender.serviceAccount.create }}
{{- default (include "memtamer.recommender.name" .) .Values.recommender.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.recommender.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The webhook configurations. Their names are not made of the release's: memtamer.io objects are the cluster's, so
there is one memtamer in a cluster, and "a0-" sorts before the webhooks of others. */}}
{{- define "memtamer.mutating.name" -}}
a0-memtamer
{{- end }}

{{- define "memtamer.validating.name" -}}
memtamer-workloads
{{- end }}

{{/* Labels. Call with (list . "webhook") or (list . "webhook" LABELS-OF-THIS-OBJECT), or with . for what belongs to no
component. Selectors, and helm, need theirs as they are; the others may be overridden. It is made as one dictionary, as
many readers refuse a key that stands there twice. */}}
{{- define "memtamer.labels" -}}
{{- $args := ternary . (list . "") (kindIs "slice" .) }}
{{- $root := index $args 0 }}
{{- $more := dict }}
{{- if gt (len $args) 2 }}{{- $more = default (dict) (index $args 2) }}{{- end }}
{{- $fixed := fromYaml (include "memtamer.selectorLabels" $args) }}
{{- $_ := set $fixed "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- $others := dict "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
{{- toYaml (merge $fixed $more (default (dict) $root.Values.commonLabels) $others (fromYaml (include "memtamer.versionLabels" $root))) }}
{{- end }}

{{- define "memtamer.selectorLabels" -}}
{{- $root := index . 0 }}
{{- $labels := dict "app.kubernetes.io/name" (include "memtamer.name" $root) "app.kubernetes.io/instance" $root.Release.Name }}
{{- with index . 1 }}
{{- $_ := set $labels "app.kubernetes.io/component" . }}
{{- end }}
{{- toYaml $labels }}
{{- end }}

{{- define "memtamer.versionLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: memtamer
{{- end }}

{{/* metadata of an object. Call with (list . COMPONENT NAME) or (list . COMPONENT NAME ANNOTATIONS). Cluster-scoped
objects: "memtamer.clusterMetadata". */}}
{{- define "memtamer.metadata" -}}
{{ include "memtamer.clusterMetadata" . }}
namespace: {{ include "memtamer.namespace" (index . 0) }}
{{- end }}

{{- define "memtamer.clusterMetadata" -}}
{{- $root := index . 0 }}
{{- $annotations := dict }}
{{- if gt (len .) 3 }}{{- $annotations = default (dict) (index . 3) }}{{- end -}}
name: {{ index . 2 }}
labels:
  {{- include "memtamer.labels" (list $root (index . 1)) | nindent 2 }}
{{- with merge (dict) $annotations (default (dict) $root.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Image reference: a digest wins over the tag. The image is in no public registry: without image.registry, nodes would
pull from Docker Hub whatever somebody else has called "memtamer". */}}
{{- define "memtamer.image" -}}
{{- $image := .Values.image }}
{{- $registry := default $image.registry (.Values.global).imageRegistry }}
{{- if not $registry }}
{{- fail "image.registry must be set: memtamer's image is in no public registry. Build it with image/build, push it to a registry of yours, and set image.registry to what precedes the image's name, registry.example.com/ml for example (docs/INSTALL.md)." }}
{{- end }}
{{- trimSuffix "/" $registry }}/{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{/* Durations as the configuration has them ("1h30m", "5s", "500ms") in whole seconds, rounded up. */}}
{{- define "memtamer.seconds" -}}
{{- $ms := 0 }}
{{- $unit := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000 }}
{{- range regexFindAll "[0-9]+(ms|[smhdw])" (toString .) -1 }}
{{- $ms = add $ms (mul (int64 (regexFind "^[0-9]+" .)) (int64 (get $unit (regexFind "[a-z]+$" .)))) }}
{{- end }}
{{- div (add $ms 999) 1000 }}
{{- end }}

{{- define "memtamer.webhook.graceSeconds" -}}
{{- $needed := include "memtamer.webhook.drainSeconds" . | int }}
{{- default (add $needed 5) (int .Values.webhook.terminationGracePeriodSeconds) }}
{{- end }}

{{/* Seconds that a stopping webhook needs: it drains, then completes its requests. */}}
{{- define "memtamer.webhook.drainSeconds" -}}
{{- $drain := dig "webhook" "drain" "5s" .Values.config }}
{{- $request := dig "webhook" "requestTimeout" "10s" .Values.config }}
{{- add (include "memtamer.seconds" $drain | int) (include "memtamer.seconds" $request | int) }}
{{- end }}

{{/* How the webhook comes by its certificate: "self", "certManager" or "secret". */}}
{{- define "memtamer.webhook.tls" -}}
{{- if .Values.webhook.tls.certManager.enabled }}certManager
{{- else if .Values.webhook.tls.existingSecret }}secret
{{- else }}self
{{- end }}
{{- end }}

{{/* The Secret of that certificate. cert-manager's has a name of its own: the other one also holds the CA's key. */}}
{{- define "memtamer.webhook.tls.secretName" -}}
{{- $tls := include "memtamer.webhook.tls" . }}
{{- if eq $tls "certManager" }}{{ include "memtamer.webhook.name" . }}-cert
{{- else if eq $tls "secret" }}{{ .Values.webhook.tls.existingSecret }}
{{- else }}{{ include "memtamer.webhook.name" . }}-tls
{{- end }}
{{- end }}

{{/* Annotations of both webhook configurations. */}}
{{- define "memtamer.webhook.configurationAnnotations" -}}
{{- $annotations := deepCopy (default (dict) .Values.webhook.annotations) }}
{{- if eq (include "memtamer.webhook.tls" .) "certManager" }}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/%s-cert" (include "memtamer.namespace" .) (include "memtamer.webhook.name" .)) }}
{{- end }}
{{- with merge (dict) $annotations (default (dict) .Values.commonAnnotations) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* What the chart itself puts into memtamer's configuration; config of the values may not contradict it. */}}
{{- define "memtamer.config.computed" -}}
{{- $service := include "memtamer.webhook.name" . -}}
apiVersion: config.memtamer.io/v1alpha1
store:
  kind: kube
namespaces:
  own: {{ include "memtamer.namespace" . }}
webhook:
  listen: ":{{ .Values.webhook.port }}"
  tls:
    {{- if eq (include "memtamer.webhook.tls" .) "self" }}
    secret: {{ include "memtamer.webhook.tls.secretName" . }}
    serverNames:
      - {{ $service }}.{{ include "memtamer.namespace" . }}.svc
      {{- range (dig "webhook" "tls" "serverNames" (list) .Values.config) }}
      - {{ . | quote }}
      {{- end }}
    {{- else }}
    certFile: /etc/memtamer-tls/tls.crt
    keyFile: /etc/memtamer-tls/tls.key
    {{- end }}
  configurations:
    mutating: {{ include "memtamer.mutating.name" . }}
    validating: {{ include "memtamer.validating.name" . }}
recommender:
  listen: ":{{ .Values.recommender.port }}"
  {{- if not .Values.webhook.enabled }}
  probe: 0s
  {{- end }}
{{- end }}

{{/* The configuration as it is mounted. An unquoted off is a boolean to YAML; here it can only mean "off". (A test finds
keys that may be off in the schema.) */}}
{{- define "memtamer.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $choices := list (list $config "mode") (list (default (dict) $config.recommender) "resize") }}
{{- range $check, $_ := $config.checks }}
{{- $choices = append $choices (list $config.checks $check) }}
{{- end }}
{{- range $choices }}
{{- if eq (toString (get (first .) (last .))) "false" }}{{- $_ := set (first .) (last .) "off" }}{{- end }}
{{- end }}
{{- toYaml (mustMergeOverwrite $config (fromYaml (include "memtamer.config.computed" .))) }}
{{- end }}

{{/* Pod template parts that both Deployments share. Call with (list . COMPONENT VALUES-OF-THE-COMPONENT). */}}
{{- define "memtamer.podMetadata" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 }}
{{- $values := index . 2 }}
{{- $labels := fromYaml (include "memtamer.selectorLabels" (list $root $component)) }}
{{- $annotations := dict "memtamer.io/restart-for" (include "memtamer.restartFor" (list $root $component)) -}}
labels:
  {{- toYaml (merge $labels (default (dict) $values.podLabels) (default (dict) $root.Values.commonLabels) (fromYaml (include "memtamer.versionLabels" $root))) | nindent 2 }}
annotations:
  # Other settings than those of restart-for are read again while the programs run.
  {{- toYaml (merge $annotations (default (dict) $values.podAnnotations) (default (dict) $root.Values.commonAnnotations)) | nindent 2 }}
{{- end }}

{{/* A hash of those keys of the configuration that only a restart puts into effect. */}}
{{- define "memtamer.restartFor" -}}
{{- $config := fromYaml (include "memtamer.config" (index . 0)) }}
{{- $part := get $config (index . 1) }}
{{- $kept := dict "store" $config.store "kubernetes" $config.kubernetes "log" $config.log }}
{{- range list "listen" "threads" "connections" "idleTimeout" "requestTimeout" "lease" }}
{{- $_ := set $kept . (get $part .) }}
{{- end }}
{{- toJson $kept | sha256sum | trunc 16 }}
{{- end }}

{{/* What the PodDisruptionBudget of a component allows. Call with podDisruptionBudget of its values. */}}
{{- define "memtamer.disruptions" -}}
{{- if ne (toString .maxUnavailable) "" -}}
maxUnavailable: {{ .maxUnavailable }}
{{- else -}}
minAvailable: {{ ternary 1 .minAvailable (eq (toString .minAvailable) "") }}
{{- end }}
{{- end }}

{{- define "memtamer.podPlacement" -}}
{{- $root := index . 0 }}
{{- $component := index . 1 }}
{{- $values := index . 2 -}}
{{- $secrets := list }}
{{- range concat (default (list) $root.Values.imagePullSecrets) (default (list) ($root.Values.global).imagePullSecrets) }}
{{- /* many charts take names there, too */}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) }}
{{- end }}
{{- with $secrets }}
imagePullSecrets:
  {{- toYaml (uniq .) | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml . | nindent 4 | trim }}
    {{- if not .labelSelector }}
    labelSelector:
      matchLabels:
        {{- include "memtamer.selectorLabels" (list $root $component) | nindent 8 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- with $values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A probe: that of the values, with this handler unless it brings one. Call with (list PROBE HANDLER). */}}
{{- define "memtamer.probe" -}}
{{- $probe := deepCopy (index . 0) }}
{{- $handler := index . 1 }}
{{- if not (or $probe.httpGet $probe.tcpSocket $probe.exec $probe.grpc) }}
{{- $probe = merge $probe $handler }}
{{- end }}
{{- toYaml $probe }}
{{- end }}
