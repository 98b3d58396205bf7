#!/bin/sh
# go-build.sh NAME WHAT [LDFLAGS]: builds the Go program in the current folder once and prints the path of the binary. It is kept outside the
# checkout, under a name that says what it was built from; minutes the first time, nothing afterwards.
set -eu

name=$1 what=$2 flags=${3:-}
hash=$(cat go.mod go.sum main.go build.sh "$0" | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/usher/$name/$hash
binary=$cache/$name

mkdir -p "$cache"
# Two at a time would only wait for each other.
if command -v flock >/dev/null; then
    exec 9>"$cache/lock"
    flock 9
fi
if [ ! -x "$binary" ]; then
    command -v go >/dev/null || { echo "$PWD: Go is not installed; go.mod names the version" >&2; exit 2; }
    echo "building $what in $cache, which takes minutes" >&2
    # Under another name first: a build that was stopped leaves nothing that looks whole.
    trap 'rm -f "$binary.$$"' EXIT
    CGO_ENABLED=0 GOFLAGS=-mod=readonly nice -n 10 go build -trimpath -buildvcs=false -ldflags "-s -w $flags" -o "$binary.$$" . >&2
    mv "$binary.$$" "$binary"
fi
echo "$binary"
