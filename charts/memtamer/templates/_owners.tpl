{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Kinds that own pods and say how many there will be, by API group: of the rows of common/k8s/kinds.c those that the
webhook watches where a quota counts memory (a test compares). A kind that is not installed is not asked for. */}}
{{- define "memtamer.owners" -}}
batch: [jobs]
batch.volcano.sh: [jobs]
jobset.x-k8s.io: [jobsets]
kubeflow.org: [jaxjobs, mpijobs, paddlejobs, pytorchjobs, tfjobs, trials, xgboostjobs]
ray.io: [rayclusters, rayjobs]
run.ai: [runaijobs]
sagemaker.amazonaws.com: [hyperpodpytorchjobs]
trainer.kubeflow.org: [trainjobs]
workload.codeflare.dev: [appwrappers]
{{- end }}

{{- define "memtamer.ownerRules" -}}
{{- range $group, $resources := fromYaml (include "memtamer.owners" .) }}
- apiGroups: [{{ $group }}]
  resources: {{ toJson $resources }}
  verbs: [list, watch]
{{- end }}
{{- end }}

{{/* Kinds that own pods and may have an owner themselves, which the recommender asks for: those, and these (another test
compares with recommender/pods/pod_owners.c). */}}
{{- define "memtamer.ownersAsked" -}}
{{ include "memtamer.owners" . }}
argoproj.io: [workflows]
sparkoperator.k8s.io: [sparkapplications]
tekton.dev: [taskruns]
{{- end }}

{{- define "memtamer.ownerGets" -}}
{{- range $group, $resources := fromYaml (include "memtamer.ownersAsked" .) }}
- apiGroups: [{{ $group }}]
  resources: {{ toJson $resources }}
  verbs: [get]
{{- end }}
{{- end }}
