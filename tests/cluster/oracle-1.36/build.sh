#!/bin/sh
# Builds the oracle with the code of Kubernetes 1.36 once and prints the path of the binary.
set -eu

cd "$(dirname "$0")"
exec ../../go-build.sh oracle-1.36 "the oracle of Kubernetes 1.36"
