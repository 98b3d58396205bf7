.DEFAULT_GOAL := help
help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14
.PHONY: help

bench: ## CPU time per request, as ratios to a no-op on the same accept loop
	cargo bench --package usher --profile fast --bench server
.PHONY: bench
