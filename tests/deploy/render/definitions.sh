#!/bin/sh
# Fetches the kinds of others that deploy/ makes objects of, as their projects release them, once, and prints the folder that has them. Go checks
# what it fetches against its checksum database.
set -eu

cert_manager=v1.21.2
prometheus_operator=v0.85.0

cache=${XDG_CACHE_HOME:-$HOME/.cache}/usher/definitions/$cert_manager-$prometheus_operator

fetch() { # MODULE@VERSION FILE...
    module=$1
    shift
    folder=$(cd / && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    for file in "$@"; do
        cp "$folder/$file" "$cache.$$/"
    done
}

if [ ! -d "$cache" ]; then
    command -v go >/dev/null || { echo "$0: Go is not installed; go.mod names the version" >&2; exit 2; }
    # Under another name first: what was stopped leaves nothing that looks whole.
    trap 'rm -rf "$cache.$$"' EXIT
    mkdir -p "$cache.$$"
    fetch "github.com/cert-manager/cert-manager@$cert_manager" \
        deploy/crds/cert-manager.io_certificates.yaml deploy/crds/cert-manager.io_issuers.yaml
    fetch "github.com/prometheus-operator/prometheus-operator@$prometheus_operator" \
        example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml \
        example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml
    chmod -R u+w "$cache.$$"
    mv "$cache.$$" "$cache" 2>/dev/null || [ -d "$cache" ]
fi
echo "$cache"
