{{- define "crawlnode.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 45 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 45 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods. It can never change. */}}
{{- define "crawlnode.selector" -}}
app: {{ include "crawlnode.fullname" . }}
{{- end -}}

{{- define "crawlnode.labels" -}}
{{ include "crawlnode.selector" . }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "crawlnode.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "crawlnode.keySecret" -}}
{{- default (printf "%s-key" (include "crawlnode.fullname" .)) .Values.key.existingSecret -}}
{{- end -}}

{{- define "crawlnode.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "crawlnode.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The gossip addresses of the first three nodes: the first of them founds the cluster. */}}
{{- define "crawlnode.join" -}}
{{- $name := include "crawlnode.fullname" . -}}
{{- $addresses := list -}}
{{- range $i := until (int (min 3 .Values.nodes)) -}}
{{- $addresses = append $addresses (printf "%s-%d.%s:27296" $name $i $name) -}}
{{- end -}}
{{- join "," $addresses -}}
{{- end -}}

{{/*
The value of a flag. Numbers of values are floats, which print large ones with an exponent.
*/}}
{{- define "crawlnode.value" -}}
{{- if kindIs "float64" . -}}
{{- if eq (floor .) . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}
