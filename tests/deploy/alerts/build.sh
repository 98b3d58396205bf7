#!/bin/sh
# Builds the checker of alerts once and prints the path of the binary: a minute or two the first time.
set -eu

cd "$(dirname "$0")"
exec ../../go-build.sh alerts "a checker of alerts with the code of Prometheus"
