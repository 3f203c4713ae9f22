"""Builds the sdist and the wheel and checks that the wheel is whole and works when installed."""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path, path: Path | None = None) -> str:
    """The command's output; stops with what it printed if it fails."""
    env = {**os.environ, "PYTHONPATH": str(path)} if path else None
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def sources(folder: str) -> set[str]:
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}


def check_content(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    wanted = sources("automemory") | {f"automemory/{name}" for name in sources("prompts")}
    if top != {"automemory"}:
        sys.exit(f"{wheel.name} would put {sorted(top)} into site-packages, not only automemory")
    if missing := wanted - names:
        sys.exit(f"{wheel.name} lacks {sorted(missing)}")


def check_installed(wheel: Path, work: Path) -> str:
    """Installs the wheel beside the source tree; the packages it needs come from the running environment."""
    site = work / "site"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel, cwd=work)
    where = Path(
        run(sys.executable, "-c", "import automemory; print(automemory.__file__)", cwd=work, path=site)
    )
    if site not in where.parents:
        sys.exit(f"imported {where}, not the installed wheel")
    start = "from automemory.cli import main; main()"
    version = run(sys.executable, "-c", start, "--version", cwd=work, path=site)
    if wheel.name.split("-")[1] not in version:
        sys.exit(f"automemory --version says {version!r}, the wheel is {wheel.name}")
    return version


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder).resolve()
        run(sys.executable, "-m", "build", "--outdir", work, ROOT, cwd=work)
        (wheel,) = work.glob("*.whl")
        check_content(wheel)
        print(f"{wheel.name} is whole and works: {check_installed(wheel, work)}")


if __name__ == "__main__":
    main()
