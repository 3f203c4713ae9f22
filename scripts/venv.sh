# Sourced by the other scripts, from the repository's root: `make_venv` or `make_venv dev`.

find_python() {
  local candidate
  for candidate in python3.11 python3.12 python3.13 python3.14 python3 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  echo "no Python 3.11 or later found: install one and put it on PATH" >&2
  return 1
}

# Makes .venv with the package in it, and with the development tools for `make_venv dev`; does nothing while
# pyproject.toml is what it was.
make_venv() {
  local group=${1:-} python wanted stamp
  stamp=.venv/installed${group:+-$group}
  wanted=$(cksum <pyproject.toml)
  if ! .venv/bin/python -c '' 2>/dev/null; then
    python=$(find_python)
    echo "making .venv with $python" >&2
    "$python" -m venv --clear .venv
  fi
  if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
    echo "installing automemory${group:+ and its $group tools} into .venv, this takes a minute" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    .venv/bin/python -m pip install --quiet --editable . ${group:+--group "$group"}
    printf '%s\n' "$wanted" | tee .venv/installed "$stamp" >/dev/null
  fi
  PATH=$PWD/.venv/bin:$PATH
}
