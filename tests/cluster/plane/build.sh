#!/bin/sh
# Builds the control plane once and prints the path of the binary: ten minutes of one core the first time.
set -eu

cd "$(dirname "$0")"
kubernetes=$(sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
minor=${kubernetes#v1.}
minor=${minor%%.*}
version=k8s.io/component-base/version
exec ../../go-build.sh plane "a Kubernetes control plane ($kubernetes)" \
    "-X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=$minor"
