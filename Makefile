# make demo   designs a small RemyCC in about a minute and compares it with simpler senders
# make test   runs every check of the project
# make nightly runs the long form of tests that search for coincidences, which takes tens of minutes
# make docs   builds the manual as a site
# make site   writes the page of `exm ratatouille`, which any web server can serve
# make dist   packs a static program, as an archive and for Debian
# make python builds the Python package and tests it; make wheel packs it for this machine, make wheels for any
#             Linux, make sdist its sources; make ray tests it on a cluster
# make video   sends a real encoder's video over emulated links by Sprout, TCP and at a fixed rate, and compares them
# make kernel-object builds the programs for the kernel from their sources, with clang; users need none
# The first two need cargo (https://rustup.rs) and nothing else; the first build fetches and compiles what
# the program is made of. Tests meet real programs as well: as root on Debian they are installed, and
# where they are missing those tests are skipped. What was skipped, and why, is listed at the end.

CARGO ?= cargo
# What tests look at networks with and talk to, and the packages of Debian it comes in.
PEERS = ip ping nft mosh-server valgrind chromium tshark
PACKAGES = iproute2 iputils-ping nftables mosh valgrind chromium tshark
# Where the smoke test writes.
SMOKE = target/smoke
# Tests that do not run append their name and the reason here (crates/testing).
SKIPPED = $(CURDIR)/target/skipped
# Property tests draw their cases from it here, so that a run can be repeated; `cargo test` draws new
# ones each time.
SEED ?= 1
# The program as the tests build it: optimised enough, and built already. `cargo run` would build it
# once more, since its libraries have other features without the tests beside them.
EXM = $${CARGO_TARGET_DIR:-target}/debug/exm

# The crates of the simulator, the designer and the tables, which need no operating system.
PORTABLE = exm-units exm-random exm-cc exm-remy exm-store exm-table exm-tcp exm-terminal exm-trace exm-grammar exm-link exm-sprout exm-ssp exm-sim exm-policy exm-predict exm-plugin exm-learn exm-ratatouille exm-web exm-design exmachina
# The oldest compiler that builds the project: rust-version in Cargo.toml.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# What `make dist` is for, and where it writes.
TARGET ?= x86_64-unknown-linux-musl
DIST = target/dist

# The target of the module that the page of `exm ratatouille` contains.
WASM = wasm32-unknown-unknown

.PHONY: all build demo test kernel-object bpf-object nightly video format lint wasm wasm-target site peers browser aiortc tests instructions renew-instructions apidocs docs smoke msrv package deny deny-if-installed dist python ray maturin wheel sdist wheels clean

all: build

build: wasm-target
	@echo "== Building exm (the first time takes minutes)"
	$(CARGO) build --release --locked

# By a profile of its own, which compiles in half the CPU time of a release, and without the page of `exm ratatouille`.
demo:
	@echo "== Building exm (the first time takes minutes)"
	$(CARGO) build --profile demo --locked --no-default-features
	@echo "== Designing, and comparing"
	$(CARGO) run --quiet --profile demo --locked --no-default-features -- demo

# Without it the program is built without that page, and a warning says so.
wasm-target:
	@test -d "$$(rustc --print target-libdir --target $(WASM))" || rustup target add $(WASM) || \
		echo "== Without the target $(WASM), exm ratatouille has no page"

test: format wasm-target lint wasm deny-if-installed tests instructions apidocs smoke python
	@if test -s $(SKIPPED); then \
		echo "== All checks passed that ran; $$(sort -u $(SKIPPED) | wc -l) were skipped:"; \
		sort -u $(SKIPPED) | sed 's/^/   /'; \
	else \
		echo "== All checks passed, none was skipped"; \
	fi

# A relay's attack on roaming needs coincidences: `make test` runs 10^5 cases of it, this 10^7.
# The objects are committed: `built` says which compiler made them, and of which sources.
BPF = crates/kernel/bpf
kernel-object:
	@$(MAKE) -s bpf-object PROGRAM=remy OBJECT=$(BPF)/remy.bpf.o
	@$(MAKE) -s bpf-object PROGRAM=alone OBJECT=$(BPF)/alone.bpf.o
	@$(MAKE) -s bpf-object PROGRAM=script OBJECT=$(BPF)/script.bpf.o
	cd $(BPF) && { clang --version | head -n 1; sha256sum *.h *.c | LC_ALL=C sort -k 2; } > built

# No path of the machine is in the object.
bpf-object:
	cd $(BPF) && clang --target=bpf -mcpu=v3 -O2 -g -Wall -Wno-unused-function -fdebug-compilation-dir=. -ffile-prefix-map=$$PWD=. -c $(PROGRAM).bpf.c -o $(abspath $(OBJECT))
	$$(clang -print-prog-name=llvm-strip) -g $(abspath $(OBJECT))

nightly:
	@echo "== Fuzzing roaming"
	$(CARGO) run --release --locked -p exm-fuzz --bin roaming -- 10000000 $(SEED)

format:
	@echo "== Checking the format of the code"
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	$(CARGO) fmt --all --check

lint:
	@echo "== Checking for warnings of the compiler and of clippy"
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# The same code runs in a browser: it asks for no files, threads or clocks that are not there.
wasm: wasm-target
	@echo "== Checking that the simulator and the designer build for WebAssembly"
	$(CARGO) check --locked --target $(WASM) --lib --no-default-features $(PORTABLE:%=-p %)
	$(CARGO) check --locked --target $(WASM) --lib -p exmachina

peers:
	@for peer in $(PEERS); do command -v $$peer >/dev/null || missing="$$missing $$peer"; done; \
	test -z "$$missing" && exit; \
	if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "== Installing$$missing, which tests talk to"; \
		timeout 120 apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			timeout 400 apt-get install -qq --no-install-recommends $(PACKAGES) >/dev/null; \
	fi || true; \
	for peer in $$missing; do command -v $$peer >/dev/null || \
		echo "== Without $$peer, the tests that want it are skipped"; done

# What drives the browser in tests.
browser:
	@test -d crates/web/browser/node_modules || ! command -v npm >/dev/null || \
		(cd crates/web/browser && timeout 120 npm ci --silent --no-audit --no-fund) || \
		echo "== Without npm's packages, the tests in a browser are skipped"

# The Google Congestion Control of aiortc (BSD-3-Clause), which a test runs beside ours. One module of it is loaded, by python3 without
# its dependencies; nothing of it is distributed.
AIORTC = aiortc==1.16.0
aiortc:
	@test -d target/aiortc || timeout 120 python3 -m pip install --quiet --no-deps --root-user-action=ignore --target target/aiortc $(AIORTC) || \
		echo "== Without $(AIORTC) of pip, the tests beside it are skipped"

tests: peers browser aiortc
	@echo "== Running the tests"
	@mkdir -p $(dir $(SKIPPED)) && rm -f $(SKIPPED)
	EXM_SKIPPED=$(SKIPPED) PROPTEST_RNG_SEED=$(SEED) $(CARGO) test --workspace --locked

# The simulator's instructions a packet, beside the table of crates/sim/benches/instructions.txt; and
# that table written anew, where a change of it is meant.
INSTRUCTIONS = $(CARGO) bench -p exm-sim --locked --no-default-features --bench instructions

instructions: peers
	@echo "== Counting instructions (the first time builds the optimised simulator)"
	EXM_SKIPPED=$(SKIPPED) $(INSTRUCTIONS)

renew-instructions: peers
	@echo "== Counting instructions anew"
	$(INSTRUCTIONS) -- --renew

# The manual as a site, by mdBook, which is built once and kept here. Without it the same pages are
# shown by `exm help`; `make test` checks their links, commands and tables with tests of its own.
MDBOOK_VERSION = 0.5.4
TOOLS = $(CURDIR)/target/tools
MDBOOK = $(TOOLS)/mdbook-$(MDBOOK_VERSION)/bin/mdbook
SITE = $(CURDIR)/target/site

$(MDBOOK):
	@echo "== Building mdBook $(MDBOOK_VERSION) (only the first time)"
	$(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --quiet --debug \
		--no-default-features --features search --root $(TOOLS)/mdbook-$(MDBOOK_VERSION)

docs: $(MDBOOK)
	@echo "== Building the manual"
	$(MDBOOK) build crates/cli/docs --dest-dir $(SITE)
	@echo "== Open $(SITE)/index.html"

# A site of one file: the page of `exm ratatouille`, for any web server, or to be opened as a file.
RATATOUILLE = target/ratatouille

site: build
	@mkdir -p $(RATATOUILLE)
	$${CARGO_TARGET_DIR:-target}/release/exm ratatouille --page $(RATATOUILLE)/index.html --force

# The documentation of the libraries.
apidocs:
	@echo "== Building the documentation of the libraries"
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

# The Python package, by the profile and in the folder of the other tests, in an environment of its own. Where Python,
# its module venv or the registry is missing, this is skipped.
VENV = $(CURDIR)/target/python/venv
PYTHON_TOOLS = maturin==1.16.0 pytest==9.2.0 numpy==2.4.6 pyarrow==26.0.1 mypy==2.4.1 \
	nbclient==0.11.0 ipykernel==7.4.0 matplotlib==3.11.2 \
	gymnasium==1.4.0 pettingzoo==1.27.0

RAY = ray==2.60.0

$(VENV)/ready:
	@rm -rf $(VENV) && mkdir -p $(dir $(VENV)) $(dir $(SKIPPED))
	@skip() { echo "python/tests: $$1" | tee -a $(SKIPPED); }; \
	if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		skip "there is no Python 3.11 or later with its module venv"; \
	elif ! { python3 -m venv $(VENV) && timeout 300 $(VENV)/bin/pip install --quiet $(PYTHON_TOOLS); }; then \
		skip "pip cannot install $(PYTHON_TOOLS)"; \
	else touch $@; fi

python: $(VENV)/ready
	@test ! -e $(VENV)/ready || { \
		echo "== Building the Python package, and testing it" && cd python && \
		VIRTUAL_ENV=$(VENV) $(VENV)/bin/maturin develop --profile dev --locked --quiet && \
		$(VENV)/bin/python -m pytest -q && \
		$(VENV)/bin/python -m mypy.stubtest --mypy-config-file pyproject.toml tcpexmachina._core && \
		$(VENV)/bin/python -m mypy tcpexmachina tests; }

# Not part of `make test`: Ray is 358 MB, and its clusters take 20 s to start.
ray: python
	@echo "== Testing designs on a cluster"
	@$(VENV)/bin/pip install --quiet $(RAY)
	cd python && $(VENV)/bin/python -m pytest -q tests/ray

# A real encoder's video over emulated links: by Sprout, TCP and at a fixed rate. Not part of `make test`: it takes seven
# minutes, and a machine that is busy would be late with frames.
VIDEO = crates/session/examples/video/video.py
VIDEO_PYTHON ?= /usr/bin/python3
video:
	@if $(VIDEO_PYTHON) $(VIDEO) check; then \
		echo "== Building exm and the video sender" && \
		$(CARGO) build --release --locked --no-default-features -p exm && \
		$(CARGO) build --release --locked -p exm-session --example video && \
		$(VIDEO_PYTHON) $(VIDEO) compare --exm $(RELEASE)/exm --video $(RELEASE)/examples/video --out target/video; \
	else echo "== Without these packages, make video is skipped"; fi
RELEASE = $(abspath $(or $(CARGO_TARGET_DIR),target))/release

# Without symbols and paths of this machine, so that two builds of one commit by one compiler give the same bytes.
PACKED = $(CURDIR)/target/python/wheels
MATURIN = cd python && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) CARGO_INCREMENTAL=0 \
	RUSTFLAGS="--remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo \
	--remap-path-prefix=$$(rustc --print sysroot)=rust" PATH=$(VENV)/bin:$$PATH $(VENV)/bin/maturin

maturin: $(VENV)/ready
	@test -e $(VENV)/ready || { echo "a wheel needs Python 3.11, its module venv and maturin"; exit 1; }

# For this machine, and others that are no older.
wheel: maturin
	@echo "== Building the wheel (takes minutes)"
	$(MATURIN) build --release --locked --out $(PACKED)

# The sources with all crates that the package is made of: pip builds it where there is a Rust compiler.
sdist: maturin
	@echo "== Packing the sources of the Python package"
	$(MATURIN) sdist --out $(PACKED)

# For any Linux since 2014, and for Alpine: Zig links with the C library that these have. Machine and C library of
# each target, and the tag of its wheel.
WHEELS = x86_64-unknown-linux-gnu=manylinux2014 x86_64-unknown-linux-musl=musllinux_1_2
ZIG = ziglang==0.17.1

wheels: maturin
	$(VENV)/bin/pip install --quiet $(ZIG)
	@set -e; for wheel in $(WHEELS); do \
		target=$${wheel%=*}; echo "== Building the wheel for $$target (takes minutes)"; \
		test -d "$$(rustc --print target-libdir --target $$target)" || rustup target add $$target; \
		($(MATURIN) build --release --locked --zig --target $$target --compatibility $${wheel#*=} --out $(PACKED)); \
	done

smoke:
	$(CARGO) test --workspace --locked --no-run --quiet
	@echo "== Designing, stopping, going on, scoring and comparing with the program itself"
	rm -rf $(SMOKE) && mkdir -p $(SMOKE)
	$(EXM) design models/demo.toml -o $(SMOKE)/whole.json --steps 40 --specimens 16 --hardening 3 --quiet
	$(EXM) design models/demo.toml -o $(SMOKE)/part.json --steps 20 --specimens 16 --hardening 3 --quiet
	$(EXM) design models/demo.toml -o $(SMOKE)/part.json --steps 40 --specimens 16 --hardening 3 --quiet --resume
	$(EXM) table diff $(SMOKE)/whole.json $(SMOKE)/part.json
	$(EXM) score $(SMOKE)/whole.json aimd --model models/demo.toml --specimens 64
	$(EXM) experiment run thesis-3-4 --quick --out $(SMOKE)/thesis-3-4
	$(EXM) experiment run thesis-3-7 --quick --out $(SMOKE)/thesis-3-7
	$(EXM) experiment run thesis-2-9 --quick --duration 90s --only Sprout,Cubic/CoDel --out $(SMOKE)/thesis-2-9
	$(EXM) report $(SMOKE)/thesis-3-4 $(SMOKE)/thesis-3-7 $(SMOKE)/thesis-2-9 -o $(SMOKE)/report.html

# Not part of `make test`: it fetches another compiler and compiles everything by it.
msrv:
	@echo "== Checking with Rust $(MSRV), the oldest that is supported"
	rustup toolchain install $(MSRV) --profile minimal
	$(CARGO) +$(MSRV) check --workspace --locked --target-dir target/msrv

# Every crate as a registry gets it, and each built from its package alone; those that are for tests only are
# never published.
package:
	@echo "== Packing the crates, and building each from its package"
	CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) package --workspace --locked \
		--exclude exm-fuzz --exclude exm-testing --exclude exm-python $(PACKAGE_FLAGS)

# `make test` runs it where cargo-deny is installed, which takes longer than all tests. The test "licences" of
# the command checks licences, sources and bans of the same file everywhere.
deny-if-installed:
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(MAKE) --no-print-directory deny; fi

deny:
	@echo "== Checking dependencies by deny.toml"
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install cargo-deny --locked
	$(CARGO) deny check bans licenses sources
	$(CARGO) deny check advisories || echo "the database of advisories cannot be reached"

# A static program without symbols, in which no path of this machine is left: two builds of one commit by one
# compiler give the same bytes, wherever they are made.
dist: wasm-target
	@echo "== Building for $(TARGET) (takes minutes)"
	@test -d "$$(rustc --print target-libdir --target $(TARGET))" || rustup target add $(TARGET)
	CARGO_INCREMENTAL=0 RUSTFLAGS="--remap-path-prefix=$(CURDIR)=. \
		--remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo --remap-path-prefix=$$(rustc --print sysroot)=rust" \
		$(CARGO) build --release --locked -p exm --target $(TARGET)
	@mkdir -p $(DIST)
	$(CARGO) run --quiet --locked -p exm --example third_party $(TARGET) > $(DIST)/third-party-licences
	packaging/package $${CARGO_TARGET_DIR:-target}/$(TARGET)/release/exm $(DIST)/third-party-licences \
		$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1) $(TARGET) $(DIST)

clean:
	$(CARGO) clean
