# make demo   designs a small RemyCC in about a minute and compares it with simpler senders
# make test   runs every check of the project
# Both need cargo (https://rustup.rs) and nothing else; the first build fetches and compiles what
# the program is made of. Tests meet real programs as well: as root on Debian they are installed, and
# where they are missing those tests are skipped. What was skipped, and why, is listed at the end.

CARGO ?= cargo
# What tests look at networks with and talk to, and the packages of Debian it comes in.
PEERS = ip ping nft mosh-server valgrind
PACKAGES = iproute2 iputils-ping nftables mosh valgrind
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

.PHONY: all build demo test format lint peers tests instructions renew-instructions docs smoke clean

all: build

build:
	@echo "== Building exm (the first time takes minutes)"
	$(CARGO) build --release --locked

demo: build
	@echo "== Designing, and comparing"
	$(CARGO) run --quiet --release --locked -- demo

test: format lint tests instructions docs smoke
	@if test -s $(SKIPPED); then \
		echo "== All checks passed that ran; $$(sort -u $(SKIPPED) | wc -l) were skipped:"; \
		sort -u $(SKIPPED) | sed 's/^/   /'; \
	else \
		echo "== All checks passed, none was skipped"; \
	fi

format:
	@echo "== Checking the format of the code"
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	$(CARGO) fmt --all --check

lint:
	@echo "== Checking for warnings of the compiler and of clippy"
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

peers:
	@for peer in $(PEERS); do command -v $$peer >/dev/null || missing="$$missing $$peer"; done; \
	test -z "$$missing" && exit; \
	if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "== Installing$$missing, which tests talk to"; \
		timeout 120 apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			timeout 120 apt-get install -qq --no-install-recommends $(PACKAGES) >/dev/null; \
	fi || true; \
	for peer in $$missing; do command -v $$peer >/dev/null || \
		echo "== Without $$peer, the tests that want it are skipped"; done

tests: peers
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

docs:
	@echo "== Building the documentation"
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

smoke:
	$(CARGO) test --workspace --locked --no-run --quiet
	@echo "== Designing, stopping, going on, scoring and comparing with the program itself"
	rm -rf $(SMOKE) && mkdir -p $(SMOKE)
	$(EXM) design models/demo.toml -o $(SMOKE)/whole.json --steps 40 --specimens 16 --quiet
	$(EXM) design models/demo.toml -o $(SMOKE)/part.json --steps 20 --specimens 16 --quiet
	$(EXM) design models/demo.toml -o $(SMOKE)/part.json --steps 40 --specimens 16 --quiet --resume
	$(EXM) table diff $(SMOKE)/whole.json $(SMOKE)/part.json
	$(EXM) score $(SMOKE)/whole.json aimd --model models/demo.toml --specimens 64
	$(EXM) experiment run thesis-3-4 --quick --out $(SMOKE)/thesis-3-4
	$(EXM) experiment run thesis-3-7 --quick --out $(SMOKE)/thesis-3-7
	$(EXM) experiment run thesis-2-9 --quick --duration 90s --only Sprout,Cubic/CoDel --out $(SMOKE)/thesis-2-9
	$(EXM) report $(SMOKE)/thesis-3-4 $(SMOKE)/thesis-3-7 $(SMOKE)/thesis-2-9 -o $(SMOKE)/report.html

clean:
	$(CARGO) clean
