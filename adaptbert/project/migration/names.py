"""Names of the older schema -> names of the present one: `-`, capitals and other scripts are no longer allowed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from adaptbert.base.ladder import RESERVED, is_name, plain, why_no_name
from adaptbert.codes import Code
from adaptbert.errors import BadParams, UserError, nearest, raise_all, shortened


@dataclass(frozen=True)
class Names:
    """Older name -> present name, of every corpus, task and arm."""

    corpora: Mapping[str, str]
    tasks: Mapping[str, str]
    arms: Mapping[str, str]

    def notes(self) -> Iterator[str]:
        """A line for each name that changes."""
        for kind, names in (("corpus", self.corpora), ("task", self.tasks), ("arm", self.arms)):
            yield from (f"{kind} {old} is now called {new}" for old, new in names.items() if old != new)


def chosen(sets: Mapping[str, Sequence[str]], renames: Mapping[str, str], file: Path) -> Names:
    """The names that are allowed as they are, the user's, and else those that are alike.

    Args:
        sets: `corpora`, `tasks` and `arms`: the older names.
        renames: older name -> the one that the user wants.
        file: for the messages.

    Raises:
        BadParams: no name is alike, or two would be the same.
    """
    errors: list[UserError] = []
    older = {name for names in sets.values() for name in names}
    for name in renames.keys() - older:
        problem = f"no corpus, task or arm is called '{name}'{nearest(name, sorted(older))}"
        errors.append(BadParams(Code.UNKNOWN_KEY, f"--rename {name}={renames[name]}", problem, "leave it out"))
    raise_all(errors)
    return Names(**{kind: _of_kind(kind, names, renames, file) for kind, names in sets.items()})


def _of_kind(kind: str, names: Collection[str], renames: Mapping[str, str], file: Path) -> dict[str, str]:
    errors: list[UserError] = []
    present: dict[str, str] = {}
    for name in names:
        new = renames.get(name, name if is_name(name) else plain(name))
        other = next((old for old, taken in present.items() if taken == new), None)
        present[name] = new
        if is_name(new) and other is None:
            continue
        if name in renames and other is None:
            errors.append(BadParams(Code.BAD_NAME, f"--rename {name}={new}", *why_no_name(new)))
            continue
        problem = f"'{shortened(name)}' cannot be a name any more: names are a-z, 0-9 and _, and begin with a letter"
        if name in RESERVED:
            problem, _ = why_no_name(name)
        elif is_name(new):
            problem = f"'{shortened(name)}' and '{other}' would both be called {new}"
        remedy = f"choose another name: adaptbert migrate --rename {quote(f'{name}=NAME')}"
        errors.append(BadParams(Code.NOT_MIGRATED, f"{file}: {kind}", problem, remedy))
    raise_all(errors)
    return present
