"""The files that every project has: `adaptbert new` writes them, and `adaptbert upgrade` brings them up to date.

Most of them are the files of this repository; pyproject.toml says which a wheel has (docs/decisions/0053). Those
of projects alone lie in adaptbert/template. A project keeps a digest of each file as it was written, by which an edit
of the user is known without the old version.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from shlex import quote

from adaptbert.codes import Code
from adaptbert.errors import BadParams
from adaptbert.project import editing

VERSION = metadata.version("adaptbert")
LIBRARY = Path(__file__).parents[1]
PACKED = LIBRARY.with_name("adaptbert_template")
"""The files of this repository, where a wheel is installed."""
GRAPH, PYPROJECT = Path("dvc.yaml"), Path("pyproject.toml")
DIGESTS = Path(".adaptbert/template.json")
"""Path of a file -> its digest as it was written; committed."""
_PIN = re.compile(rb"""(["']adaptbert\s*(?:\[[\w\s,-]+\]\s*)?===?\s*)([^\s"',;]+)""", re.IGNORECASE)
"""A requirement and its version, as a user may write it too: with blanks, and a condition behind it."""
_CODE = b"      - adaptbert\n", b"      - pyproject.toml\n"
"""What the stage `plan` watches in place of the library: the file that pins its version."""


def check_version() -> None:
    """Raise BadParams where the project pins another version than the installed one."""
    pin = _PIN.search(PYPROJECT.read_bytes()) if PYPROJECT.is_file() else None
    if pin and (pinned := pin[2].decode()) != VERSION:
        problem = f"pins adaptbert {pinned}, and {VERSION} is installed in {LIBRARY.parent}"
        remedy = f"`adaptbert upgrade` takes {VERSION} over; or install the other: pip install adaptbert=={pinned}"
        raise BadParams(Code.NOT_INSTALLED, PYPROJECT, problem, remedy)


def name_of(folder: Path) -> str:
    """The name of a project in pyproject.toml, which takes Latin letters, digits, '-', '_' and '.' alone."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name).strip("._-") or "study"
    return f"{name}-study" if name.lower() == "adaptbert" else name  # pip takes no package that needs itself


def interpreter(directory: Path) -> str:
    """The option by which `make` takes this one, and installs no second: where the folder has none of its own."""
    is_own = Path(sys.prefix).resolve() == Path(directory, ".venv").resolve()
    return "" if is_own or quote(sys.executable) != sys.executable else f" PYTHON={sys.executable}"


def files(name: str) -> dict[Path, bytes]:
    """Path in a project of that name -> what the installed version writes there."""
    from jinja2 import Template  # here, because stages check the version and write no file

    written: dict[Path, bytes] = {}
    for path, source in sorted(_sources()):
        content = source.read_bytes()
        if path.suffix == ".j2":
            template = Template(content.decode(), keep_trailing_newline=True)
            content = template.render(name=name, version=VERSION).encode()
        written[path.with_suffix("") if path.suffix == ".j2" else path] = content
    return {**written, GRAPH: written[GRAPH].replace(*_CODE)}


def _sources() -> Iterator[tuple[Path, Path]]:
    """Path in a project, and the file that it is made of."""
    folders = [(Path(), LIBRARY / "template"), (Path(), PACKED)]
    if not PACKED.is_dir():  # a clone
        root = LIBRARY.parent
        build = tomllib.loads((root / PYPROJECT).read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
        folders += [(Path(name), root / name) for name in build["targets"]["wheel"]["force-include"]]
    for home, folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            if path.is_file() and path.parent.name != "__pycache__":
                yield home / path.relative_to(folder), path


def write(folder: Path) -> None:
    """Write all files into a folder, which has none of them."""
    written = files(name_of(folder))
    for path, content in {**written, DIGESTS: _record(written)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def _record(written: Mapping[Path, bytes]) -> bytes:
    digests = {path.as_posix(): _digest(content) for path, content in written.items()}
    return f"{json.dumps(digests, indent=1, sort_keys=True)}\n".encode()


def _digest(content: bytes) -> str:
    """Digest of a file, whichever version of adaptbert it pins."""
    return sha256(_PIN.sub(rb"\1", content)).hexdigest()[:16]


def upgrade() -> Iterator[str]:
    """Bring the project in the current folder to the installed version. An edited file is left as it is.

    Yields:
        Lines for the user, with a diff for each edited file of which adaptbert has a newer one.

    Raises:
        BadParams: `adaptbert new` did not make this project, or a file by which that is known is damaged.
    """
    before, project = _known()
    here = PYPROJECT.read_bytes()
    pinned = {pin[2].decode() for pin in _PIN.finditer(here)}
    editing.write(PYPROJECT, _PIN.sub(rf"\g<1>{VERSION}".encode(), here))
    yield f"adaptbert {', '.join(sorted(pinned - {VERSION})) or VERSION} -> {VERSION}"
    new = files(project)
    for path, content in new.items():
        yield from _upgraded(path, content, before.get(path.as_posix()))
    for name in sorted(before.keys() - {path.as_posix() for path in new}):
        if (path := Path(name)).is_file() and _digest(path.read_bytes()) == before[name]:
            path.unlink()
            yield f"removed: {path}, which adaptbert no longer has"
    editing.write(DIGESTS, _record(new))


def _known() -> tuple[dict[str, str], str]:
    """The digests that the project keeps, and its name."""
    remedy = f"`adaptbert new` makes a project; a lost file comes back by: git checkout {DIGESTS} {PYPROJECT}"
    try:
        digests = dict(json.loads(DIGESTS.read_text(encoding="utf-8")))
        return digests, str(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["name"])
    except FileNotFoundError as error:
        raise BadParams(Code.DVC, Path(error.filename), "missing: no project of `adaptbert new`", remedy) from None
    except (ValueError, KeyError, TypeError) as error:
        raise BadParams(Code.DVC, DIGESTS, f"it or {PYPROJECT} cannot be read: {error}", remedy) from None


def _upgraded(path: Path, new: bytes, before: str | None) -> Iterator[str]:
    """One file, with the digest that it was written with; a line where something happens to it."""
    here = path.read_bytes() if path.is_file() else None
    if here == new or before == _digest(new) or (here is None and before is not None):
        return  # nothing is new, or the user has removed it
    if here is None or _digest(here) == before:
        editing.write(path, new)
        yield f"{'new' if here is None else 'replaced'}: {path}"
        return
    yours, newer = (text.decode(errors="replace").splitlines() for text in (here, new))
    yield f"you edited {path}, and it stays as it is; to merge by hand:"
    yield from unified_diff(yours, newer, f"{path} (yours)", f"{path} (adaptbert {VERSION})", lineterm="")
