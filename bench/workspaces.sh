#!/usr/bin/env bash
# Makes the workspaces S, M and L of the benchmarks under DIR from registry packages; a finished one is left as it is.
# usage: bench/workspaces.sh DIR [S|M|L ...]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${1:?usage: bench/workspaces.sh DIR [S|M|L ...]}
shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
wanted=${*:-S M L}

# The caller's build settings and git identity must not shape the data.
unset CARGO_TARGET_DIR RUSTFLAGS CARGO_BUILD_TARGET
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=bench GIT_AUTHOR_EMAIL=bench@example.invalid
export GIT_COMMITTER_NAME=bench GIT_COMMITTER_EMAIL=bench@example.invalid
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'

cargo_manifest() {
  printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n' "$1"
  shift
  printf '%s\n' "$@"
}

rust_main() {
  mkdir -p "$1/src"
  printf 'fn main() {\n    println!("hello");\n}\n' >"$1/src/main.rs"
}

# S: a small Rust program with its dependencies vendored, all of it under git.
make_S() {
  local root=$1
  rust_main "$root"
  cargo_manifest small 'regex = "1"' 'serde = { version = "1", features = ["derive"] }' 'serde_json = "1"' \
    'clap = { version = "4", features = ["derive"] }' 'rayon = "1"' 'libc = "0.2"' >"$root/Cargo.toml"
  mkdir "$root/.cargo"
  (cd "$root" && cargo vendor -q vendor >.cargo/config.toml)
  # Import libraries of another system make up most of the bytes and none of the variety.
  rm -rf "$root"/vendor/windows*
  git -C "$root" init -q -b main
  git -C "$root" add -A
  git -C "$root" commit -q -m 'first'
  git -C "$root" gc -q
}

web_packages='{"name":"web","version":"1.0.0","private":true,"dependencies":{
  "next":"15.5.0","react":"19.1.1","react-dom":"19.1.1","typescript":"5.9.2","eslint":"9.33.0","webpack":"5.101.3",
  "webpack-cli":"6.0.1","vite":"7.1.3","jest":"30.0.5","@babel/core":"7.28.3","@babel/preset-env":"7.28.3",
  "tailwindcss":"4.1.12","prettier":"3.6.2","lodash":"4.17.21","rxjs":"7.8.2","date-fns":"4.1.0",
  "@types/node":"24.3.0","@types/react":"19.1.11"}}'

make_sources() {
  python3 - "$1" <<'PY'
import pathlib, sys
root = pathlib.Path(sys.argv[1])
for folder in ("web/src", "py/app", "docs"):
    (root / folder).mkdir(parents=True, exist_ok=True)
for i in range(1, 401):
    lines = [f"export const v{i}_{j} = ({i} * {j} + {(i * 7919 + j * 104729) % 9973}) % 97; // line {j}\n" for j in range(1, 61)]
    (root / f"web/src/c{i}.ts").write_text(f"// file {i}\n" + "".join(lines))
for i in range(1, 51):
    (root / f"py/app/m{i}.py").write_text(f"def f{i}(x):\n    return x + {i}\n")
    (root / f"docs/page{i}.md").write_text(f"# Page {i}\n\n" + f"Sentence about topic {i}. " * 40 + "\n")
PY
}

make_history() {
  local root=$1 commit edit
  git -C "$root" init -q -b main
  git -C "$root" add -A
  git -C "$root" commit -q -m 'first'
  for commit in $(seq 1 30); do
    for edit in 1 2 3 4 5; do
      echo "// edit $commit.$edit" >>"$root/web/src/c$(((commit * 7 + edit * 13) % 400 + 1)).ts"
    done
    git -C "$root" commit -q -a -m "change $commit"
  done
}

# M: a monorepo as people have it: node_modules, a cargo target, a .venv, and a .git with history.
make_M() {
  local root=$1
  mkdir -p "$root/web"
  printf '%s\n' "$web_packages" >"$root/web/package.json"
  (cd "$root/web" && npm install --no-audit --no-fund --ignore-scripts --loglevel=error)
  rust_main "$root/rs"
  cargo_manifest service 'regex = "1"' 'serde = { version = "1", features = ["derive"] }' 'serde_json = "1"' \
    'clap = { version = "4", features = ["derive"] }' 'rayon = "1"' 'tokio = { version = "1", features = ["full"] }' \
    >"$root/rs/Cargo.toml"
  (cd "$root/rs" && cargo build -q -j2)
  mkdir -p "$root/py"
  (cd "$root/py" && python3 -m venv .venv &&
    .venv/bin/pip install -q 'numpy==2.2.6' 'requests==2.32.4' 'black==25.1.0' 'pytest==8.4.1' 'django==5.2.5')
  make_sources "$root"
  printf 'node_modules/\ntarget/\n.venv/\n' >"$root/.gitignore"
  make_history "$root"
}

# L: six copies of M, each file made distinct so that no tool may store one copy for six.
make_L() {
  local root=$1 copy
  for copy in 1 2 3 4 5 6; do
    cp -a "$dir/M" "$root/p$copy"
    # A nested repository would be one link to git, and the comparison with it would be void.
    mv "$root/p$copy/.git" "$root/p$copy/dotgit"
  done
  # The compilers' large outputs would push L far over 3 GB and add no files.
  rm -rf "$root"/p[2-6]/web/node_modules/@next "$root"/p[3-6]/rs/target
  python3 "$here/stamp.py" "$root"
}

describe() {
  printf '%s files=%s dirs=%s links=%s bytes=%s\n' "$1" "$(find "$dir/$1" -type f | wc -l)" "$(find "$dir/$1" -type d | wc -l)" \
    "$(find "$dir/$1" -type l | wc -l)" "$(find "$dir/$1" -type f -printf '%s\n' | awk '{s += $1} END {printf "%.0f\n", s}')"
}

# L is made of copies of M.
case " $wanted " in *' M '*) ;; *' L '*) wanted="M $wanted" ;; esac

for name in $wanted; do
  if [ ! -e "$dir/.$name.done" ]; then
    rm -rf "${dir:?}/$name"
    mkdir "$dir/$name"
    "make_$name" "$dir/$name"
    describe "$name" >"$dir/.$name.done"
  fi
  cat "$dir/.$name.done"
done
