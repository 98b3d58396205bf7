{{/* Objects have fixed names, since there is one Usher in a cluster: rules and webhook configurations are cluster-wide. */}}

{{- define "usher.chartLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "usher.labels" -}}
app.kubernetes.io/name: usher
{{ include "usher.chartLabels" . }}
{{- end }}

{{/* For what hooks make: not to be selected by the Service. */}}
{{- define "usher.hookLabels" -}}
app.kubernetes.io/name: usher-{{ .hook }}
{{ include "usher.chartLabels" .top }}
{{- end }}

{{- define "usher.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The documents of a file that kustomize has too, in the namespace of the release. `labels` are added to each. */}}
{{- define "usher.shared" -}}
{{- $text := .top.Files.Get .file | replace "usher-system" .top.Release.Namespace }}
{{- range $document := regexSplit "(?m)^---$" $text -1 }}
{{- $object := fromYaml $document }}
{{- if $object.Error }}{{ fail (printf "%s: %s" $.file $object.Error) }}{{ end }}
{{- $more := merge (include "usher.chartLabels" $.top | fromYaml) ($.labels | default dict) }}
{{- $_ := set $object.metadata "labels" (merge (dict) ($object.metadata.labels | default dict) $more) }}
{{- if $.annotations }}{{ $_ := set $object.metadata "annotations" $.annotations }}{{ end }}
{{- if not (and $.withoutRoles (hasPrefix "rbac." $object.apiVersion) (has $object.metadata.name $.withoutRoles)) }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{- define "usher.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "usher.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
