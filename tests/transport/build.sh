#!/bin/sh
# Builds the API server's side of a webhook once and prints the path of the binary. It is kept outside the checkout, under a name that says what
# it was built from.
set -eu

cd "$(dirname "$0")"
hash=$(cat go.mod go.sum main.go build.sh | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/usher/transport/$hash
binary=$cache/transport

mkdir -p "$cache"
# Two at a time would only wait for each other.
if command -v flock >/dev/null; then
    exec 9>"$cache/lock"
    flock 9
fi
if [ ! -x "$binary" ]; then
    command -v go >/dev/null || { echo "$0: Go is not installed; go.mod names the version" >&2; exit 2; }
    echo "building the API server's side of a webhook in $cache" >&2
    # Under another name first: a build that was stopped leaves nothing that looks whole.
    trap 'rm -f "$binary.$$"' EXIT
    CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n 10 go build -trimpath -buildvcs=false -ldflags "-s -w" -o "$binary.$$" . >&2
    mv "$binary.$$" "$binary"
fi
echo "$binary"
