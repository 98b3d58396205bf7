# CI calls these targets; everything they need beyond Rust, Go, a C compiler, curl and openssl they install themselves.
.DEFAULT_GOAL := help
SHELL := /bin/sh

FUZZ_SECONDS ?= 60
PROFILE ?= dev
BINARY := $(or $(CARGO_TARGET_DIR),target)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/usher

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: build ## Serve policies/ with development certificates and send three reviews (ONCE=1: stop after them)
	@examples/demo/run.sh $(BINARY)

build: ## Build the binary (PROFILE=release for the one that ships)
	cargo build --locked --profile $(PROFILE) --bin usher

test: lint unit fuzz ## Everything that must pass

lint: ## Formatting and lints, warnings refused
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

unit: plane oracle-binary transport render ## All tests but the fuzzers
	cargo test --locked --workspace

plane: ## A real etcd and API server for tests, built once (needs Go)
	@tests/cluster/plane/build.sh

transport: ## The API server's side of a webhook as a client for tests, built once (needs Go)
	@tests/transport/build.sh

render: ## Helm, kustomize and Prometheus' checks of alerts as programs for tests, built once (needs Go)
	@tests/deploy/render/build.sh
	@tests/deploy/alerts/build.sh
	@tests/deploy/render/definitions.sh

cluster: build plane ## A real API server on loopback with Usher beside it, until Ctrl-C
	cargo run --locked --example cluster -- $(BINARY)

fuzz: ## Each fuzz target for FUZZ_SECONDS (60)
	@command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked
	for target in parse compile; do \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none $$target -- -seed=1 -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -rss_limit_mb=1024 -timeout=10 -print_funcs=0 -verbosity=0 || exit 1; \
	done

oracle-binary: ## The CEL of the API servers of Kubernetes 1.37 and 1.36 as programs, built once (needs Go)
	@tests/cluster/oracle/build.sh
	@tests/cluster/oracle-1.36/build.sh

oracle: oracle-binary ## ORACLE_CASES (100000) random expressions with ORACLE_SEED (1), for ORACLE_VERSION (any), held against the API server's own code
	ORACLE_CASES=$${ORACLE_CASES:-100000} ORACLE_SEED=$${ORACLE_SEED:-1} \
	  cargo test --locked --package usher-cel --profile fast --test kubernetes_library random_ -- --nocapture

bench: ## CPU time per request as ratios to a no-op, and expressions against the crate cel
	cargo bench --locked --package usher --profile fast --bench server
	cargo bench --locked --package usher-cel --profile fast --bench evaluate

deny: ## Licences, bans and sources of the dependencies
	@command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	cargo deny check bans licenses sources

crd: build ## Write the generated CRD
	$(BINARY) crd > deploy/crd/usher.dev_routingrules.yaml

.PHONY: help run build test lint unit plane transport render cluster fuzz bench deny crd oracle oracle-binary
