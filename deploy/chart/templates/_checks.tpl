{{/* What a schema cannot say of values that do not go together, with the reason. */}}
{{- define "usher.checks" -}}
{{- $values := .Values }}
{{- $fromFiles := eq $values.rules.source "files" }}
{{- if and $fromFiles (not $values.rules.files) }}
{{- fail "rules.source is files, so rules.files needs a file with rules" }}
{{- end }}
{{- if and $values.rules.files (not $fromFiles) }}
{{- fail "rules.files needs rules.source: files; the rules of a cluster are objects: kubectl apply them" }}
{{- end }}
{{- if and $fromFiles $values.admissionPolicies }}
{{- fail "admissionPolicies needs rules.source: cluster" }}
{{- end }}
{{- if and $values.autoscaling.enabled (gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.maxReplicas is less than autoscaling.minReplicas" }}
{{- end }}
{{- if and $values.image.tag $values.image.digest }}
{{- fail "image.tag and image.digest exclude each other: leave one empty" }}
{{- end }}
{{- end }}
