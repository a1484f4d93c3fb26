"""Many requests of every kind to a served model of texts, and what was wrong with the responses."""

import json
import random
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import requests

from adaptbert import Predictor
from adaptbert.release.served import LONGEST

AT_ONCE = 8
NO_ROWS = ("", "{bad", "[]", "{}", "null", '{"inputs": "text"}', '{"inputs": 5}', '{"rows": []}', '{"inputs": [' * 50)


@dataclass
class Storm:
    """Requests to a server, beside the answers of the model.

    Attributes:
        statuses: kind of request and status -> how many.
        wrong: a line for each response that is not as expected.
    """

    address: str
    predictor: Predictor
    texts: Sequence[str]
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def blow(self, count: int, seed: int) -> None:
        """Send so many requests, `AT_ONCE` at a time."""
        draw = random.Random(seed)
        kinds = {self._rows: 50, self._bad_rows: 20, self._oversize: 5, self._none: 20, self._slow: 5}
        chosen = draw.choices([*kinds], [*kinds.values()], k=count)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for sent in [pool.submit(send, random.Random(draw.random())) for send in chosen]:
                sent.result()

    def _rows(self, draw: random.Random) -> None:
        rows = [{"id": str(n), "text": draw.choice(self.texts)} for n in range(draw.randint(0, 20))]
        self._check("rows", rows, self._post({"inputs": rows}))

    def _bad_rows(self, draw: random.Random) -> None:
        bad = [5, None, {}, {"text": None}, {"text": 5}, {"text": ""}, ["a", "b"], {"id": "x"}, {"text": "\ud800"}]
        rows = [draw.choice([*bad, {"text": draw.choice(self.texts)}]) for _ in range(10)]
        self._check("bad rows", rows, self._post({"inputs": rows}))

    def _oversize(self, draw: random.Random) -> None:
        rows = [{"text": draw.choice(self.texts)}, {"text": "shape " * LONGEST}, {"text": draw.choice(self.texts)}]
        self._check("oversize", rows, self._post({"inputs": rows}))

    def _none(self, draw: random.Random) -> None:
        self._refused("none", self._post(draw.choice(NO_ROWS)))

    def _slow(self, draw: random.Random) -> None:
        """A client that sends its body in pieces, and one that goes away before its end."""
        rows = [{"id": "a", "text": draw.choice(self.texts)}]
        body, host = json.dumps({"inputs": rows}).encode(), urlsplit(self.address)
        assert host.hostname is not None
        with socket.create_connection((host.hostname, host.port), timeout=60) as line:
            head = ["POST /invocations HTTP/1.1", "Host: here", "Content-Type: application/json", "Connection: close"]
            line.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]).encode())
            for start in range(0, len(body), 10):
                line.sendall(body[start : start + 10])
                time.sleep(0.01)
                if start > 20 and draw.random() < 0.2:
                    return
            answer = b"".join(iter(lambda: line.recv(65536), b"")).partition(b"\r\n\r\n")
        self.statuses["slow", int(answer[0].split()[1])] += 1
        self._compare("slow", rows, json.loads(answer[2])["predictions"])

    def _post(self, body: Any) -> requests.Response:
        data = body if isinstance(body, str) else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        return requests.post(f"{self.address}/invocations", data=data, headers=headers, timeout=120)

    def _refused(self, kind: str, response: requests.Response) -> None:
        self.statuses[kind, response.status_code] += 1
        if response.status_code != 400 or not response.json()["message"]:
            self.wrong.append(f"{kind}: {response.status_code} {response.text[:200]}")

    def _check(self, kind: str, rows: list[Any], response: requests.Response) -> None:
        self.statuses[kind, response.status_code] += 1
        if response.status_code != 200:
            self.wrong.append(f"{kind}: {response.status_code} {response.text[:200]}")
        else:
            self._compare(kind, rows, response.json()["predictions"])

    def _compare(self, kind: str, rows: list[Any], answers: list[Any]) -> None:
        with self._one_at_a_time:
            expected = [*self.predictor.answers(rows, longest=LONGEST)]
        if answers != expected:
            self.wrong.append(f"{kind}: {answers} in place of {expected}"[:500])
