# Two commands on a fresh machine: `make demo` and `make test`. `make help` lists the rest.

# rustup installs here; a shell opened before that does not know it yet.
export PATH := $(HOME)/.cargo/bin:$(PATH)

CARGO ?= cargo
# Which groups of scripts/setup's table to have installed: `base`, or `base native` for the C/C++ side.
SETUP ?= base native
LITMUS ?= litmus

.DEFAULT_GOAL := help
.PHONY: help setup build demo check test soak bench fmt clean install

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: ## install what is missing (Debian and Ubuntu), or say what to install
	@scripts/setup $(SETUP)

build: setup ## the optimised landfall, in target/release
	$(CARGO) build --release --locked -p landfall-cli

demo: build ## the bundled litmus tests and examples, with what Landfall says of them
	@CARGO=$(CARGO) scripts/demo $(LITMUS)

check: ## what to run after a change: architecture, format, lints, unit tests of the pure crates
	@CARGO=$(CARGO) scripts/check

test: setup ## the whole test suite: architecture, format, lints, tests (.ci/run calls this)
	@CARGO=$(CARGO) scripts/test

# Random native programs against the definition: for MINUTES, or PROGRAMS of them, from SEED on or from where the last soak stopped. Differences and
# the table are below SOAK.
MINUTES ?= 60
PROGRAMS ?=
SEED ?=
SOAK ?= $(CURDIR)/target/soak
soak: setup ## random programs against the definition, for MINUTES=60 or PROGRAMS=N, from SEED=S on
	SOAK_MINUTES=$(MINUTES) SOAK_PROGRAMS=$(PROGRAMS) SOAK_SEED=$(SEED) SOAK_DIR=$(SOAK) \
		$(CARGO) test --release --locked -p landfall-cli --test all -- --ignored --nocapture soak

bench: setup ## the benchmarks
	$(CARGO) bench --workspace --locked

fmt: ## format the Rust sources
	$(CARGO) fmt --all

install: setup ## put landfall into ~/.cargo/bin, with manual pages and completions
	$(CARGO) install --path crates/cli --locked
	@scripts/install-manual

clean: ## remove everything that was built
	$(CARGO) clean
