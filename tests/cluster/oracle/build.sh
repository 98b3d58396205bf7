#!/bin/sh
# Builds the oracle once and prints the path of the binary.
set -eu

cd "$(dirname "$0")"
exec ../../go-build.sh oracle "the oracle"
