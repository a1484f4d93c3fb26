"""The code of every error, what it means, and what happens: the table of docs/errors.md.

A code stands for what a user does about it; the message says what was found. A number never changes and is never used
again: people search for `AB-081`, and `data/rejected` holds it.
"""

from enum import IntEnum, unique
from typing import Self

_REJECTED = "rejected"
_BAD_PARAMS = "78"


@unique
class Code(IntEnum):
    """An error by its number.

    Attributes:
        meaning: for docs/errors.md.
        outcome: the same; `rejected`, or the exit code where it is not 65.
    """

    meaning: str
    outcome: str

    def __new__(cls, number: int, meaning: str = "", outcome: str = "") -> Self:
        # Every member has a meaning; without the default, mypy would refuse `Code(81)`, which finds a member.
        code = int.__new__(cls, number)
        code._value_, code.meaning, code.outcome = number, meaning, outcome
        return code

    @property
    def shown(self) -> str:
        """The code as messages have it: `AB-081`."""
        return f"AB-{self:03d}"

    # ---- files
    ENCODING = 1, "bytes of another encoding than the declared one (UTF-8), or a last character that is cut", _REJECTED
    BINARY_FILE = 10, "mostly NUL bytes: a binary file"
    EMPTY_FILE = 17, "a file with no row in it: empty, only newlines, or only a header"
    NOTHING_LEFT = 18, "no row is left"
    TOO_FEW_ROWS = 19, "too few texts, rows or classes, or one value in all of them: nothing to split, train or measure"
    REPEATED_TEXT = 20, "a text that an earlier row has; nothing but such texts", "rejected; stops when no two differ"
    TOO_LONG = (
        22,
        "a text longer than `validate` allows, a line of more than 10 million characters, a field that is too large",
        _REJECTED,
    )
    WRONG_FORMAT = 37, "another format than the declared one, or none: an archive, a JSON array, CSV with an open quote"
    DAMAGED_FILE = 38, "gzip or Parquet that is cut or damaged"
    FILE = 50, "no such file, folder or data set; a path that is no file, is given twice, or cannot be read"
    # ---- rows: columns, labels, splits
    TEXT_MISSING = (
        41,
        "no text in a row, one text of a pair missing, or a text shorter than `validate` allows",
        _REJECTED,
    )
    BAD_ROW = 44, "a line that is cut or has another form than its format (JSON, CSV, CoNLL, a dictionary)", _REJECTED
    COLUMNS = 56, "a column that is missing, there twice, or of another type than text", "in one row: rejected"
    UNKNOWN_LABEL = 59, "an unknown label, or labels that look equal and differ"
    LABEL_NOT_IN_TRAIN = 60, "labels of dev or test that train never shows (`map_labels` gives them other names)"
    LABEL_MISSING = 62, "no label, value or answer, in a row or in a whole split", "in one row: rejected"
    LEFT_OUT = 229, "a row that is rejected, skipped, not annotated or null by `map_labels`", "rejected, as no error"
    BAD_LABEL = 65, "a label, list or value of another type, or outside `range`", "in one row: rejected"
    LEAK = (
        70,
        "a text of dev or test in a corpus or another split, as it is or after normalising",
        ("rejected; stops when it is most of a split"),
    )
    GROUPS = 72, "a group, mapped in `columns`, in two splits; all test rows in one group"
    OFFSETS = 81, "an answer or a span that is not at its offsets, cuts a word, or overlaps another", _REJECTED
    BAD_ID = 86, "an id in two rows"
    TAGS = (
        89,
        "tags that break their scheme or are of another one; tokens that are empty or more or fewer than tags",
        ("in one row: rejected"),
    )
    BAD_PATTERN = 191, "a pattern of `replace` that does not come to an end, or makes a text a hundred times as long"
    UNCLEAR_FILE = 216, "`new` or `add-task` cannot see what a file holds; the message names the option that says it"
    # ---- params.yaml and options
    UNKNOWN_KEY = 99, "an unknown or missing key, section or name; the message names the nearest one", _BAD_PARAMS
    BAD_OPTION = 109, "a value of a wrong type, out of range, or not finite", _BAD_PARAMS
    CONTRADICTION = 111, "two values that exclude each other", "78; 65 where one of them is in the data"
    BAD_NAME = 112, "a name that cannot be that of a stage, or is taken", _BAD_PARAMS
    PARAMS_FILE = (
        114,
        "params.yaml is missing, too large or deep, or not plain YAML 1.2 with every key once",
        _BAD_PARAMS,
    )
    PLAN_IS_OLD = 210, "plan.json is missing, not readable, or older than params.yaml or the code", _BAD_PARAMS
    NOT_EDITABLE = (
        217,
        "a params.yaml that a command cannot change without losing how it is written, or an edit made meanwhile",
        _BAD_PARAMS,
    )
    # ---- checkpoints and tokenizers
    UNSAFE_WEIGHTS = 119, "pickled weights, or a pickle that could run code; nothing of it was run"
    DAMAGED_CHECKPOINT = 124, "a checkpoint with a file that is missing, damaged or not finite, or a savepoint that is"
    NOT_A_CHECKPOINT = 128, "no such checkpoint; no config.json or no tokenizer in it that can be loaded"
    TOKENIZER = 129, "a tokenizer of another model, in code, without a mask token, or with over 20 % unknown tokens"
    OTHER_ARCHITECTURE = 132, "no encoder, code, answers that padding changes, weights quantized or of another size"
    NOT_FINE_TUNED = 181, "a checkpoint that was not fine-tuned on a task, or whose card does not say how it was read"
    NOT_SUPPORTED = (
        230,
        "a model that the comparison does not carry: leaky, incomplete, out of date, undecided, nothing learned",
    )
    CHANGED_RELEASE = 231, "a release with a file that was changed, is missing, or is not of it"
    CHALLENGE = 232, "a release that is worse than the champion of its task, or cannot be compared with it"
    # ---- the machine, DVC, other machines
    NOT_INSTALLED = (
        154,
        "a package or git is not installed, or of another version than pyproject.toml pins, or has no docstrings",
        "65; 78",
    )
    UNREACHABLE = 156, "the hub or a Ray cluster does not answer", "75"
    DIVERGED = 158, "the loss or the gradient is not a number", "70"
    LOCKED = 159, "another process works on the same stage", "75"
    MACHINES = (
        171,
        "devices or machines that the environment names and that do not fit, or cannot get the code",
        _BAD_PARAMS,
    )
    WORKER_LOST = (
        180,
        "a process that works for this one was killed, perhaps for lack of memory, or failed",
        ("75; 70 where it failed"),
    )
    BLOCKED = 184, "something else stands where a file or folder belongs, or a permission is missing", "74"
    DISK_FULL = 189, "a disk or quota that is full, a file larger than it may be, a read-only file system", "74"
    DEVICE_MEMORY = 190, "a device whose memory ran out", _BAD_PARAMS
    ALREADY_THERE = 197, "another file or checkpoint stands where a command would write"
    DVC = (
        198,
        "DVC cannot work: no repository, dvc.yaml or dvc.lock that it cannot read, or what DVC itself says",
        "65; 78",
    )
