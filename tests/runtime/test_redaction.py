"""A canary goes through everything that leaves a process, and appears nowhere."""

import json
import os
import subprocess
import sys
import time
from base64 import b64encode
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from adaptbert.config import load
from adaptbert.runtime.mlflow import open_run
from adaptbert.runtime.redaction import redacted
from tests.runtime.test_stage import RECORDED
from tests.support.imports import ROOT
from tests.support.project import Project, clone, free_port, write_params

CANARY = "K@narien/vogel 1"
ENCODED = "K%40narien%2Fvogel%201"
ADDRESS = f"http://user:{ENCODED}@127.0.0.1"
SHOWN = ("narien", "vogel", b64encode(f"user:{CANARY}".encode()).decode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no answer from http://user:secret@host:5000/api", "no answer from http://***@host:5000/api"),
        ("postgresql+psycopg2://user:se@cret@host/db", "postgresql+psycopg2://***@host/db"),
        ("http://user:sec/ret@host/api", "http://***@host/api"),
        ("https://token@host", "https://***@host"),
        ("https:/user:secret@host/a.csv: no such file", "https:/***@host/a.csv: no such file"),
        ("GET /api?run=1&token=secret&step=2 failed", "GET /api?run=***&token=***&step=*** failed"),
        ("{path: https://host/x?sig=a'b&c=d, n: 1}", "{path: https://host/x?sig=***&c=***, n: 1}"),
        ("see https://host/x#access_token=a.b.c: gone", "see https://host/x#access_token=***: gone"),
        ("https:/host/x.csv?c2VjcmV0==#key: no such file", "https:/host/x.csv?***#***: no such file"),
        ("url: /x?X-Amz-Signature=secret", "url: /x?X-Amz-Signature=***"),
        ("Invalid token hf_abcdefghijklmnopqrstuvwx.", "Invalid token ***."),
        ("key AKIAIOSFODNN7EXAMPLE is unknown", "key *** is unknown"),
        ("https://u:2024-a/Secr3tPw@h/x", "https://***@h/x"),
        ("https://u:99/Secr3tPw@h/x", "https://***@h/x"),
        ("https://user.with.dot:99/pw@host", "https://***@host"),
        ("at https%3A%2F%2Fu%3Apw%40h%2Fx", "at https%3A%2F%2F***%40h%2Fx"),
        (
            "Authorization: Bearer a.b-c, 'authorization': 'Basic dTpw'",
            "Authorization: Bearer ***, 'authorization': 'Basic ***'",
        ),
        ("{'password': 'X', \"api_key\": \"Y\"}", "{'password': '***', \"api_key\": \"***\"}"),
        (f"ghp_{'a1' * 18} or github_pat_{'B2' * 12} or sk-proj-{'c3' * 12}.", "*** or *** or ***."),
        ("见 http://a.com/x?id=1，再运行 make recipe", "见 http://a.com/x?id=***，再运行 make recipe"),
        ("http://localhost:5000/x?run=1&token=secret", "http://localhost:5000/x?run=1&token=***"),
        ("https://localhost.example/x?id=1", "https://localhost.example/x?id=***"),
        ("http://127.0.0.1:5000/#/experiments/1/runs/abc?a=b", ""),
        ("see http://host/#/experiments/1 or file:///x/reports/index.html#t?a=b", ""),
        ("见 http://a.com/x#第一节，再运行 make recipe", ""),
        ("mlflow models serve -m models:/mood@champion", ""),
        ("https:/mood@champion", "https:/***@champion"),
        ("http://10.0.0.5:5000/a@b, {'token': 'Berlin', 'mask_token': '[MASK]'}, sk-learn-of-some-other-kind", ""),
        ("http://[::1]:5000/#/experiments/1?a=b, http://[::1]/a@b or http://[fe80::1]:5000/a@b", ""),
        ("http://host:5000/a to sqlite:////srv/mlflow.db", ""),
        ("mail to a@b.example, tokens=5 in all", ""),
        ("is it in /srv/a? no: docs/errors.md#b, /srv/b#1.csv", ""),
        (r"replace: [['https?://\S+', '@url'], ['(?P<a>x)/(?=y)', '']]", ""),
    ],
)
def test_what_looks_like_a_credential(text: str, expected: str) -> None:
    """Nothing for a text that stays as it is."""
    assert redacted(text, {}) == (expected or text)


@pytest.mark.parametrize(
    "variables",
    [
        {"MLFLOW_TRACKING_URI": f"http://user:{ENCODED}@host:5000"},
        {"SOME_STORE": f"see http://user:{CANARY.replace(' ', '')}@host"},
        {"MLFLOW_TRACKING_URI": f"http://user:{CANARY}@host:5000"},
        {"MLFLOW_TRACKING_URI": f"http://host:5000?api_token={ENCODED}"},
        {"SOME_STORE": f"https://{ENCODED}@host"},
        {"MLFLOW_TRACKING_PASSWORD": CANARY},
        *({name: CANARY} for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PREFECT_API_AUTH_STRING")),
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_what_this_process_has(variables: dict[str, str]) -> None:
    """However a library quotes it."""
    (value,) = variables.values()
    forms = [CANARY, ENCODED] if CANARY in value or ENCODED in value else [CANARY.replace(" ", "")]
    for form in forms:
        assert redacted(f"401 for {form}, giving up", variables) == "401 for ***, giving up"
    if f"user:{ENCODED}@" in value:
        assert redacted(f"Basic {SHOWN[2]}", variables) == "Basic ***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_ASKPASS", "/home/alice/.vscode-server/askpass.sh"),
        ("DB_PASS", "/home/alice/secrets/none.txt"),
        ("DB_PASSWORD", "~/secrets/none.txt"),
        ("PROXY_BYPASS", "localhost"),
        ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "true"),
        ("MY_SECRET", "data"),
        ("HTTP_PROXY", "http://user:data@proxy:1"),
    ],
)
def test_ordinary_values_stay(name: str, value: str) -> None:
    text = f"/home/alice/secrets/x.csv, {value} or data, true, localhost: no such file"
    assert redacted(text, {name: value}) == redacted(text, {})


@pytest.mark.parametrize("name", ["SSHPASS", "DB_PASS", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_credential_with_a_slash_is_hidden_as_a_whole(name: str) -> None:
    """It may begin with one, as a key of AWS; its parts may be words."""
    secret = "/wJalr/models/bPxRfi"
    assert redacted(f"{secret} in models/small", {name: secret}) == "*** in models/small"


@pytest.mark.parametrize("part", ["://", "://a.", "%3A%2F%2F", "a:/", "ab:/b?c&", "/a?b", "https://"])
def test_a_long_line_takes_little_time(part: str) -> None:
    began = time.process_time()
    redacted(part * 8000)
    assert time.process_time() - began < 3


PRINTS = f"""
import logging, sys, warnings
from adaptbert.runtime.redaction import guard_streams
logging.basicConfig()
guard_streams()
guard_streams()
told = "{ADDRESS}/x?sig={ENCODED}"
logging.getLogger("library").warning("asked %s", told)
warnings.warn(told)
print("found", told, flush=True)
print("in pieces ", *told.partition("%40"), sep="", flush=True)
sys.stdout.buffer.write(b"bytes \\xff " + told[:20].encode())
sys.stdout.buffer.write(told[20:].encode())
raise OSError(told)
"""


@pytest.mark.parametrize("options", [(), ("-u",)])
def test_whoever_prints(options: tuple[str, ...]) -> None:
    """Libraries, warnings, tracebacks; text or bytes; whole lines, pieces, and one that does not end."""
    ran = subprocess.run([sys.executable, *options, "-c", PRINTS], capture_output=True, check=False)
    safe = b"http://***@127.0.0.1/x?sig=***"
    assert ran.stdout == b"found %b\nin pieces %b\nbytes \xff %b" % (safe, safe, safe)
    assert ran.stderr.count(safe) == 3, ran.stderr
    assert ran.stderr.endswith(b"OSError: %b\n" % safe)


PRINTS_A_KEY = """
import os, sys
from adaptbert.runtime.redaction import guard_streams
guard_streams()
key = os.environ["A_SECRET"]
print("the key", key, "is known")
sys.stdout.write("in\\n" + key[:40])
sys.stdout.write(key[40:] + "\\nparts\\n")
raise RuntimeError(key)
"""


@pytest.mark.parametrize("options", [(), ("-u",)])
def test_a_credential_of_several_lines(options: tuple[str, ...]) -> None:
    env = {**os.environ, "A_SECRET": "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----"}
    ran = subprocess.run([sys.executable, *options, "-c", PRINTS_A_KEY], capture_output=True, text=True, env=env)
    assert "the key *** is known\n" in ran.stdout
    assert ran.stderr.endswith("RuntimeError: ***\n")
    assert "MIIE" not in ran.stdout.partition("in\n")[0] + ran.stderr


PRINTS_A_LONG_LINE = """
import os, sys, threading, time
from adaptbert.runtime.redaction import guard_streams
guard_streams()
for _ in range(1000):
    sys.stdout.buffer.write(b"x" * 8192)
print(time.process_time(), flush=True)
prints = threading.Event()

def slowly():
    with sys.stdout.buffer.write.__self__._lock:
        prints.set()
        time.sleep(1)

threading.Thread(target=slowly).start()
prints.wait()
if not os.fork():
    print("child")
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def test_a_long_line_in_pieces_and_a_fork_while_another_thread_prints() -> None:
    ran = subprocess.run([sys.executable, "-c", PRINTS_A_LONG_LINE], capture_output=True, text=True, timeout=60)
    (long, child) = ran.stdout.split()
    assert float(long.lstrip("x")) < 5, "seconds for 8 MB"
    assert child == "child", ran.stderr


def test_a_stage_whose_server_is_dead_and_that_raises(project: Path) -> None:
    command = [sys.executable, "-c", RECORDED, "--base", "small", "--corpus", "broken", "--out", "out"]
    env = {**os.environ, "MLFLOW_TRACKING_URI": f"{ADDRESS}:{free_port()}", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120)
    printed = ran.stdout + ran.stderr
    assert "warning: MLflow failed (" in printed
    assert ("Traceback" in printed, ran.returncode) == (True, 1)
    assert not [form for form in SHOWN if form in printed]
    assert not holding(project)


def test_the_record(project: Path, mlflow_tables: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of libraries become tags and params; the data base and the artifacts are searched whole."""
    (project / "mlflow.db").write_bytes(mlflow_tables)
    monkeypatch.setenv("HF_TOKEN", CANARY)
    with open_run("finetune", {"task": "section"}, {"path": f"{ADDRESS}/rows.csv"}, Path("params.yaml")) as run:
        run.set_tags({"diverged": f"{ADDRESS} said no to {CANARY}"})
    assert b"http://***@127.0.0.1 said no to ***" in (project / "mlflow.db").read_bytes()
    assert not holding(project)


@pytest.mark.slow
def test_the_flow_whose_server_is_dead(project: Path) -> None:
    """One line, and no traceback of Prefect's."""
    (project / ".dvc").mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_URL": f"{ADDRESS}:{free_port()}/api"}
    command = [sys.executable, "-m", "flows.recipe"]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=240)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 75, printed
    assert "error: the Prefect server does not answer (" in printed
    assert "Traceback" not in printed
    assert not [form for form in SHOWN if form in printed]


def holding(folder: Path) -> list[Path]:
    """Files in which a form of the canary stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if any(form.encode() in path.read_bytes() for form in SHOWN)]


NAMED = {
    "HF_ENDPOINT": "http://user:{}@127.0.0.1:9",
    "HTTP_PROXY": "http://user:{}@127.0.0.1:9",
    "SOME_STORE": "https://127.0.0.1:9/x?sig={}",
    **dict.fromkeys(("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MLFLOW_TRACKING_PASSWORD"), "{}"),
}
"""Variable -> its value, with a password of its own."""
IN_FILES = {
    ".dvc/config": "['remote \"far\"']\n    url = https://user:{}@127.0.0.1:9/dvc\n",
    ".git/config": '[remote "origin"]\n    url = https://user:{}@127.0.0.1:9/x.git\n',
    "params.yaml": "# from https://user:{}@127.0.0.1:9/x\n",
}
IN_OPTIONS = {
    "--train": "https://user:{}@127.0.0.1:9/x.csv?auth=1#token=2",
    "--base": "https://user:{}@127.0.0.1:9/bert",
    "--text": "https://127.0.0.1:9/x.csv?code={}",
}
OF_PARAMS = ("corpora.general.path", "tasks.section.train", "tokenize.words.dictionary", "bases.small")
TRACKED = "http://user:{}@127.0.0.1:9"
SMALL: dict[str, Any] = load.read(ROOT / "presets/smoke.yaml")
SMALL |= {"arms": ["scratch", "general"], "tasks": {"section": SMALL["tasks"]["section"]}}
SMALL |= {"tokenize": {"max_length": 64, "words": {}}}
del SMALL["domain_transfer"], SMALL["task_transfer"]


PLACES = (*NAMED, *IN_FILES, *IN_OPTIONS, *OF_PARAMS, "MLFLOW_TRACKING_URI")
PASSWORDS = {place: f"Kanari{number:02}vogel" for number, place in enumerate(PLACES)}
TRACKED_AT = {"MLFLOW_TRACKING_URI": TRACKED.format(PASSWORDS["MLFLOW_TRACKING_URI"])}


@pytest.fixture
def planted(tmp_path: Path) -> Project:
    """A small project with a password of its own in each place of this machine where one may stand."""
    project = clone(tmp_path / "project", tmp_path / "home")
    write_params(project.root, SMALL)
    for command in (["rm", "-q", "--cached", "-r", "metrics"], ["add", "-A"], ["commit", "-q", "-m", "smoke"]):
        subprocess.run(["git", *command], cwd=project.root, env=project.env, check=True)
    for name, text in IN_FILES.items():
        with (project.root / name).open("a", encoding="utf-8") as file:
            file.write(text.format(PASSWORDS[name]))
    project.env |= {name: value.format(PASSWORDS[name]) for name, value in NAMED.items()}
    project.env |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    for name in ("PREFECT_API_URL", *(name for name in project.env if name.endswith("_OFFLINE"))):
        del project.env[name]
    return project


def printed(project: Project, *command: str, code: int, **variables: str) -> str:
    ran = Project(project.root, project.env | variables).run(*command, timeout=1500)
    assert ran.returncode == code, ran.stdout
    assert not [place for place, password in PASSWORDS.items() if password in ran.stdout], ran.stdout
    return ran.stdout


def leaks(project: Project) -> list[tuple[str, str]]:
    """Place and file of each password that stands in a file, but for those that were put there."""
    files = [path for folder in (project.root, Path(project.env["HOME"])) for path in folder.rglob("*")]
    written = {str(path): path.read_bytes() for path in files if path.is_file() and ".git/" not in str(path)}
    assert any(name.endswith(".db") for name in written)
    own = {str(project.root / name) for name in IN_FILES}
    every = [(place, name) for place in PLACES for name in written if PASSWORDS[place].encode() in written[name]]
    return [(place, name) for place, name in every if name not in own]


@pytest.mark.slow
@pytest.mark.timeout(2000)
def test_a_recipe_that_succeeds_keeps_no_password(planted: Project) -> None:
    """Neither in the stores of MLflow and Prefect, nor in cards, report, plan and the files of DVC."""
    printed(planted, "flows.recipe", "--jobs", "1", code=0)
    written = ("reports/index.html", "mlflow.db", ".prefect/prefect.db", "dvc.lock", "plan.json")
    assert [name for name in written if not (planted.root / name).is_file()] == []
    assert [*planted.root.glob("models/finetune/*/card.json")]
    assert b"# from https://***@127.0.0.1:9/x" in next(planted.root.glob("mlartifacts/**/params.yaml")).read_bytes()
    assert leaks(planted) == []


@pytest.mark.slow
@pytest.mark.timeout(2000)
def test_what_fails_shows_no_password(planted: Project) -> None:
    """What a library says of a hub that does not answer, and what is refused, in commands and in the flow."""
    options = [part for name, value in IN_OPTIONS.items() for part in (name, value.format(PASSWORDS[name]))]
    said = printed(planted, "adaptbert.cli", "new", ".", "--force", *options, code=65)
    assert "https:/***@127.0.0.1:9/x.csv?auth=***#token=***: an address, not a file\n  download it" in said
    printed(planted, "adaptbert.cli", "doctor", code=1, **TRACKED_AT)
    printed(planted, "flows.recipe", "--cluster", code=78)
    for place in OF_PARAMS:
        document = deepcopy(SMALL)
        *above, last = place.split(".")
        address = f"https://user:{PASSWORDS[place]}@127.0.0.1:9/x?key={PASSWORDS[place]}"
        reduce(getitem, above, document)[last] = address
        (planted.root / "params.yaml").write_text(json.dumps(document), encoding="utf-8")
        for command in ("plan", "check"):
            printed(planted, "adaptbert.cli", command, code=78)
    printed(planted, "flows.recipe", code=78)
    (planted.root / "params.yaml").unlink()
    write_params(planted.root, SMALL | {"bases": {"small": "org/name"}, "pretrain": {}})
    hub = "thrown while requesting HEAD http://***@127.0.0.1:9/"
    assert hub in printed(planted, "adaptbert.cli", "download", "org/name", "--out", "data/own/x", code=75)
    assert hub in printed(planted, "flows.recipe", "--until", "tokenizer", code=65, **TRACKED_AT)
    assert leaks(planted) == []
