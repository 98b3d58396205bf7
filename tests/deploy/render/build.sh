#!/bin/sh
# Builds the renderer once and prints the path of the binary: minutes of one core the first time.
set -eu

cd "$(dirname "$0")"
exec ../../go-build.sh render "a renderer with the libraries of Helm and kustomize"
