#!/bin/sh
# Sends a file's worth of bytes by picoquic, a QUIC stack in C, with a RemyCC as its congestion control.
#
#   crates/kernel/examples/picoquic/run.sh [TABLE [MEGABYTES]]
#
# picoquic's sources are those of the crate picoquic-sys (MIT), which cargo fetches. It takes gcc, cmake, and the
# headers of OpenSSL (libssl-dev).
set -eu
table=${1:-general-delta1}
megabytes=${2:-5}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
work=$root/target/picoquic
sources=$work/vendor/picoquic-sys/src
exm=${EXM:-$root/target/release/exm}

mkdir -p "$work/fetch" "$work/picotls" "$work/objects"
if [ ! -d "$sources" ]; then
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[lib]\npath = "lib.rs"\n[dependencies]\npicoquic-sys = "=0.1.0"\n[workspace]\n' > "$work/fetch/Cargo.toml"
    : > "$work/fetch/lib.rs"
    (cd "$work/fetch" && cargo vendor --quiet "$work/vendor" > /dev/null)
fi
if [ ! -f "$work/libpicoquic.a" ]; then
    (cd "$work/picotls" && cmake "$sources/picotls" && make picotls-core picotls-openssl) > "$work/log" 2>&1 || {
        echo "picotls does not compile: see $work/log; are cmake and libssl-dev installed?" >&2
        exit 1
    }
    for file in "$sources"/picoquic/picoquic/*.c; do
        gcc -std=gnu99 -O2 -w -fcommon -I"$sources/picotls/include" -c "$file" -o "$work/objects/$(basename "$file").o"
    done
    ar rcs "$work/libpicoquic.a" "$work"/objects/*.o
fi
[ -x "$exm" ] || (cd "$root" && cargo build --release --package exm)
"$exm" table compile "$table" -o "$work/remycc.h" --force
gcc -std=gnu99 -O2 -Wall -Wextra -Wno-unused-parameter -fcommon -I"$work" -I"$sources/picoquic/picoquic" \
    -I"$sources/picotls/include" -o "$work/transfer" "$here/remy_picoquic.c" "$here/transfer.c" \
    "$work/libpicoquic.a" "$work/picotls/libpicotls-openssl.a" "$work/picotls/libpicotls-core.a" -lssl -lcrypto
"$work/transfer" "$megabytes" "$sources/picoquic/certs"
