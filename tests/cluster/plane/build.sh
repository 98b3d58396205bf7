#!/bin/sh
# Builds the control plane once and prints the path of the binary. It is kept outside the checkout, under a name that says what it was built
# from; ten minutes of one core the first time, nothing afterwards.
set -eu

cd "$(dirname "$0")"
kubernetes=$(sed -n 's|.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
minor=${kubernetes#v1.}
minor=${minor%%.*}
hash=$(cat go.mod go.sum main.go build.sh | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/usher/plane/$hash
binary=$cache/plane

mkdir -p "$cache"
# Two at a time would only wait for each other.
if command -v flock >/dev/null; then
    exec 9>"$cache/lock"
    flock 9
fi
if [ ! -x "$binary" ]; then
    command -v go >/dev/null || { echo "$0: Go is not installed; go.mod names the version" >&2; exit 2; }
    echo "building a Kubernetes control plane ($kubernetes) in $cache, which takes minutes" >&2
    # Under another name first: a build that was stopped leaves nothing that looks whole.
    trap 'rm -f "$binary.$$"' EXIT
    version=k8s.io/component-base/version
    CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n 10 go build -trimpath -buildvcs=false -o "$binary.$$" -ldflags \
        "-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=$minor" . >&2
    mv "$binary.$$" "$binary"
fi
echo "$binary"
