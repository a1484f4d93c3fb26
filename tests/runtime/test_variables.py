"""The environment variables of this project: which values they may have, and who says so when."""

import re

import pytest

from adaptbert.commands import doctor
from adaptbert.errors import BadParams, Several
from adaptbert.flow.hand_over import WARM_SOCKET
from adaptbert.runtime import variables
from adaptbert.runtime.variables import CLUSTER, DEVICES, GRAPHS, SAVE_SECONDS, STAGES, VARIABLES, WORKERS, value_of
from tests.support.imports import ROOT

WRONG = {
    DEVICES: ("0", "two", "-1", "1.5", "２"),
    STAGES: ("0", "17", "-1", "two", "1.5"),
    GRAPHS: ("yes", "1", "true "),
    CLUSTER: ("local", "ray://10.0.0.7:10001", "10.0.0.7", "10.0.0.7:many"),
    WORKERS: ("all", "-1", " 3"),
    SAVE_SECONDS: ("soon", "-1", "nan", "1e3"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_what_a_value_may_not_be(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    expected = f"AB-109 {name}: expected {VARIABLES[name].expected}, found {value!r}\n  write e.g. "
    with pytest.raises(BadParams, match=re.escape(expected)):
        value_of(name)


@pytest.mark.parametrize("name", VARIABLES)
def test_what_it_may_be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its example; one that is set to nothing is not set."""
    for value in (VARIABLES[name].example, ""):
        monkeypatch.setenv(name, value)
        assert value_of(name) == value


def test_others_that_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        (CLUSTER, "[fe80::1]:6379"),
        (CLUSTER, "a-host:6379"),
        (SAVE_SECONDS, "0.05"),
        (GRAPHS, "True"),
    ):
        monkeypatch.setenv(name, value)
        assert value_of(name) == value


def test_all_that_are_wrong_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `adaptbert check`, with which a flow begins, and by `adaptbert doctor`, which knows mistyped names as well."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert [*doctor.environment()] == []
    monkeypatch.setenv(DEVICES, "many")
    monkeypatch.setenv(SAVE_SECONDS, "soon")
    with pytest.raises(Several) as refused:
        variables.check()
    assert [str(each.place) for each in refused.value.failures] == [DEVICES, SAVE_SECONDS]
    monkeypatch.setenv("ADAPTBERT_DEVICE", "2")
    monkeypatch.setenv("ADAPTBERT_COLOUR", "red")
    told = [(verdict, what, found) for verdict, what, found, _ in doctor.environment()]
    assert told == [
        ("FAIL", DEVICES, "expected a number of devices, found 'many'"),
        ("FAIL", SAVE_SECONDS, "expected a number of seconds, found 'soon'"),
        ("warn", "ADAPTBERT_DEVICE", f"no variable of this project (did you mean '{DEVICES}'?)"),
        ("warn", "ADAPTBERT_COLOUR", "no variable of this project"),
    ]


def test_every_variable_that_code_names_is_one_of_them() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "adaptbert").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"\bADAPTBERT_[A-Z_]+\b", text)}
    assert named - {WARM_SOCKET} == {*VARIABLES}, "but for what a flow tells its stages"
