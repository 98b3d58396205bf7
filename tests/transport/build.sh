#!/bin/sh
# Builds the API server's side of a webhook once and prints the path of the binary.
set -eu

cd "$(dirname "$0")"
exec ../go-build.sh transport "the API server's side of a webhook"
