"""The number of every error, what it means, and what happens: the table of docs/errors.md.

A number never changes and is never used again: people search for `AB-082`, and `data/rejected` holds it.
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
        # Every member has a meaning; without the default, mypy would refuse `Code(82)`, which finds a member.
        code = int.__new__(cls, number)
        code._value_, code.meaning, code.outcome = number, meaning, outcome
        return code

    @property
    def shown(self) -> str:
        """As messages have it: `AB-082`."""
        return f"AB-{self:03d}"

    # ---- files: bytes, packing, formats
    NOT_DECODABLE = 1, "bytes that are not UTF-8 (GBK, Latin-1), or not of the declared encoding", _REJECTED
    UTF_16 = 3, "UTF-16 with a byte-order mark that was not declared"
    UTF_16_WITHOUT_MARK = 4, "UTF-16 without a byte-order mark that was not declared"
    CUT_CHARACTER = 6, "the last line ends inside a character", _REJECTED
    SURROGATE_ESCAPE = 9, "a field with an escape of a lone surrogate", _REJECTED
    BINARY_FILE = 10, "mostly NUL bytes: a binary file"
    NO_ROWS = 16, "a file with no row in it: only newlines, or only a header"
    EMPTY_FILE = 17, "an empty file"
    NOTHING_LEFT = 18, "no row is left"
    TOO_FEW_ROWS = 19, "too few texts or rows to split"
    REPEATED_TEXT = 20, "a text that an earlier row has; nothing but such texts", "rejected; stops when no two differ"
    TOO_LONG = 22, "a text longer than `validate` allows, or a line of more than 10 MB", _REJECTED
    VOCABULARY_DOES_NOT_FIT = (
        25,
        "more than 20 % unknown tokens: the vocabulary does not fit the text (it is trained on corpora, on no labelled "
        "set)",
    )
    GZIP_CUT = 32, "gzip that is cut"
    GZIP_DAMAGED = 33, "gzip that is damaged or has a wrong checksum"
    GZIP_EXPANDS = 34, "gzip that expands without end"
    GZIP_NAME = 35, "a name that says gzip where the content is not, or the reverse; Parquet inside gzip"
    ARCHIVE = 37, "an archive, such as zip or tar"
    PARQUET_DAMAGED = 38, "Parquet that is truncated or damaged"
    COLUMN_TYPES_DIFFER = 39, "parts of a corpus with different types for one column"
    COLUMN_MISSING_IN_PART = 40, "a column is missing in a later part of a corpus"
    TEXT_NULL = 41, "no text in a row", _REJECTED
    NOT_TEXT = 42, "a column that is binary, or of another type than text", "in one row: rejected"
    BAD_JSON = 44, "a JSON line that is cut or is no object", "rejected; a file that is one JSON document stops"
    JSON_NOT_IN_LINES = 45, "a JSON array, or an object over several lines, instead of an object a line"
    COLUMN_TWICE = 46, "a key of a JSON object, or a column that is read, twice"
    FILE_CHANGED = 48, "a file that changes while it is read"
    NOT_A_FILE = 49, "not a regular file, or one that cannot be read"
    NO_SUCH_FILE = 50, "no such file, none in the folder, or a name that tells no known format"
    FILE_TWICE = 51, "a file that is given twice"
    # ---- rows: columns, labels, splits
    DEV_OR_TEST_TEXT = 55, "dev or test text in a corpus that trains", _REJECTED
    COLUMN_MISSING = 56, "a column is missing", "in one row: rejected"
    COLUMN_CASE = 58, "a column is missing, and there is one in other capitals"
    UNKNOWN_LABEL = 59, "an unknown label, or one called `positive`"
    LABEL_NOT_IN_TRAIN = 60, "labels of dev or test that train never shows (`map_labels` gives them other names)"
    LABEL_MISSING = 62, "no label, value or answers", _REJECTED
    LABEL_TYPE = 65, "labels of mixed types; several labels for one class, or a broken list", "in one row: rejected"
    LABELS_LOOK_ALIKE = (
        66,
        "labels that look equal but differ by case, white space, full or half width, composed or split accents, or an "
        "invisible character",
    )
    TOO_FEW_CLASSES = 67, "too few classes in train"
    IN_OTHER_SPLIT = 70, "a text that is also in dev or test", "rejected; stops when it is most of a split"
    ALMOST_IN_OTHER_SPLIT = 71, "a text that is also in dev or test after normalising", _REJECTED
    GROUP_IN_TWO_SPLITS = 72, "a group, mapped in `columns`, in two splits"
    TOO_SHORT = 74, "a text shorter than `validate` allows, or empty", _REJECTED
    PAIR_INCOMPLETE = 76, "one text of a pair is missing", _REJECTED
    BAD_VALUE = 77, "a value that is no number, not finite, or outside `range`", _REJECTED
    CONSTANT_TARGET = 78, "the same value in every training row"
    LIST_EXPECTED = 80, "text where a list is expected, and no `separator` that parts its labels"
    ANSWER_NOT_AT_OFFSET = 81, "an answer that is not at its offset", _REJECTED
    OFFSET_OUTSIDE_TEXT = 83, "an offset outside the text", _REJECTED
    UNANSWERABLE_QUESTIONS = 84, "questions without an answer, and no `no_answer: true`"
    BAD_ID = 86, "an id in two rows; no id in a row", "no id: rejected"
    TOKENS_AND_TAGS_DIFFER = 88, "tokens and tags of unequal length", _REJECTED
    ILLEGAL_TAGS = 89, "tags that break their scheme", _REJECTED
    OTHER_TAG_SCHEME = 90, "tags of another scheme than `tag_scheme`, or of several"
    EMPTY_TOKEN = 91, "an empty token", _REJECTED
    INVISIBLE_TOKEN = 92, "a token without a visible character", _REJECTED
    OVERLAPPING_SPANS = 93, "spans that overlap"
    COLUMN_COUNT = 95, "a CSV row, or a line of CoNLL, with more or fewer columns than the first", _REJECTED
    BAD_CSV = 96, "CSV with an open quote or one column"
    FIELD_TOO_LARGE = 97, "a field, or a file that is read whole, is too large"
    SPLIT_WITHOUT_LABELS = 98, "dev or test without labels"
    # ---- params.yaml and options
    UNKNOWN_KEY = 99, "an unknown or missing key, section or name; the message names the nearest one", _BAD_PARAMS
    WRONG_TYPE = 100, "a value of a wrong type", _BAD_PARAMS
    KEY_TWICE = 103, "a key twice", _BAD_PARAMS
    TOO_MANY_VALUES = 104, "more values than params.yaml can need: aliases that multiply", _BAD_PARAMS
    TOO_DEEP = 105, "values nested too deep", _BAD_PARAMS
    YAML_TAG = 106, "a YAML tag", _BAD_PARAMS
    PARAMS_TOO_LARGE = 107, "a params.yaml larger than 1 MB", _BAD_PARAMS
    NO_PARAMS = 108, "params.yaml cannot be read or is not a mapping; not the folder of the project", _BAD_PARAMS
    OUT_OF_RANGE = 109, "a value out of range", _BAD_PARAMS
    CONTRADICTION = 111, "two values that exclude each other", "78; 65 where one of them is in the data"
    BAD_NAME = 112, "a name that cannot be that of a stage, or is taken", _BAD_PARAMS
    NOT_YAML = 114, "not YAML 1.2 or not UTF-8", _BAD_PARAMS
    NOT_FINITE = 117, "a number that is not finite", _BAD_PARAMS
    # ---- checkpoints and tokenizers
    PICKLED_WEIGHTS = 119, "pickled weights"
    BAD_CONFIG = (
        122,
        "a damaged config.json, card.json or metrics file; one with an absurd size, or that could run code",
    )
    BAD_SAFETENSORS = 123, "a safetensors file that is cut or damaged"
    DAMAGED_WEIGHTS = 124, "damaged weights, or each savepoint of a stopped run is"
    WEIGHTS_NOT_FINITE = 125, "NaN or Inf in the weights"
    TOKENIZER_TOO_LARGE = 127, "a tokenizer larger than the embeddings"
    NOT_A_CHECKPOINT = 128, "no such checkpoint; no config.json or no tokenizer in it that can be loaded"
    OTHER_TOKENIZER = 129, "another model's tokenizer"
    NO_SPECIAL_TOKENS = 130, "a tokenizer without BERT's special tokens"
    OTHER_ARCHITECTURE = 132, "another architecture, or quantized weights"
    WEIGHTS_DO_NOT_FIT = 133, "weights and config.json disagree"
    HEAD_DOES_NOT_FIT = 134, "a head for another number of labels, or for others"
    CHECKPOINT_INCOMPLETE = 137, "a file of the checkpoint is missing"
    # ---- machine, packages, network
    TILDE_IN_PATH = 153, "`~` in a path"
    NOT_INSTALLED = 154, "a package of the demonstration, or optuna, is not installed", "65; 78"
    TOO_FEW_DOCSTRINGS = 155, "docstrings are stripped, or too few"
    HUB_UNREACHABLE = 156, "the hub cannot be reached", "75"
    NOT_ON_HUB = 157, "no such data set, configuration or split on the hub"
    DIVERGED = 158, "the loss or the gradient is not a number", "70"
    LOCKED = 159, "another process works on the same stage", "75"
    NO_SENTENCE_PAIRS = 160, "too few texts are long enough to be cut into a pair of sentences"
    SPAN_CUTS_WORD = 161, "a span of characters that holds no word, or begins or ends inside one", _REJECTED
    BAD_DICTIONARY = 165, "a line of `tokenize.words.dictionary` that is not a word, or a word and a whole number"
    BAD_DEVICES = (
        171,
        "ADAPTBERT_DEVICES is no number, more than there are, or does not divide the micro-batches of a step",
        _BAD_PARAMS,
    )
    RANK_LOST = 172, "the process of another device was killed, or failed", "75; 70 where it failed"
    WORKER_LOST = 180, "a worker process was killed, perhaps for lack of memory", "75"
    NOT_FINE_TUNED = 181, "a checkpoint that was not fine-tuned on a task, or whose card does not say how it was read"
    # ---- DVC, the disk, data/own, and what came later
    LOCK_FILE_CONFLICT = 182, "dvc.lock with both sides of a merge"
    LOCK_FILE_INCOMPLETE = 183, "dvc.lock is not whole, and another DVC process is at work", "75"
    BLOCKED = (
        184,
        "`dvc.lock`, or a lock of DVC's, is no file; something else stands where a file or folder belongs; no "
        "permission to read a file, or to write one",
        "74",
    )
    ARM_OF_OTHER_ROLE = 185, "an arm with the name of a role that its steps do not have", _BAD_PARAMS
    ARM_TWICE = 186, "two arms of a task with the same steps and values", _BAD_PARAMS
    KEY_NOT_TEXT = 187, 'a key that YAML reads as a number, a date, a boolean or nothing: `"2024"`', _BAD_PARAMS
    LOOK_ALIKE = (
        188,
        "a full-width colon or a curly quote in a key of params.yaml; NUL or half of a character in a text of it",
        _BAD_PARAMS,
    )
    DISK_FULL = 189, "a disk or quota that is full, a file larger than it may be, a read-only file system", "74"
    NO_WEIGHTS = 190, "the card of a trained checkpoint says that there are no weights: its answers would be random"
    PATTERN_TOO_SLOW = 191, "a pattern of `replace` that does not come to an end at a row"
    NAME_NOT_UTF_8 = 192, "the name of a file or folder is not UTF-8"
    PATTERN_EXPANDS = 193, "a pattern of `replace` that makes a text more than ten times as long"
    NOT_COPIED = 196, "no room for copies of your files in `data/own` and in DVC's cache, or they are not written", "74"
    OTHER_FILE_THERE = 197, "`data/own` has another file of this name, and DVC does not have it"
    NOT_RECORDED = 198, "DVC cannot record files, or say what is due: no repository, or what DVC itself says"
    OWN_DATA_IS_A_LINK = 199, "`data/own` is a link, or lies behind one"
    LOCK_FILE_VERSION = 200, "dvc.lock of another version of DVC"
    PLAN_IS_OLD = 210, "plan.json is missing, not readable, or older than params.yaml or the code", _BAD_PARAMS
    START_NOT_WATCHED = 211, "a base from a folder that DVC does not watch: it belongs in models/init", _BAD_PARAMS
    PICKLE_WITH_CODE = 201, "a pickle that holds more than tensors and could run code; nothing of it was run"
    OTHER_CHECKPOINT_THERE = 202, "the folder that an import would write holds something already"
    UNCLEAR_FILE = 216, "`add-task` cannot see what a file holds, and names the option that says it"
    NOT_EDITABLE = (
        217,
        "a params.yaml that a command cannot change without losing how it is written, or an edit made meanwhile",
        _BAD_PARAMS,
    )
    NO_TOKENIZED_TEXT = 218, "`price` finds no tokenised text of a base yet, or no validated rows of a task"
    ONE_TEST_GROUP = 222, "all test rows are of one group, which is mapped in `columns`"
    # ---- more than one machine
    RAY_MISSING = 223, "ADAPTBERT_CLUSTER names a cluster, and Ray is not installed", _BAD_PARAMS
    NO_CLUSTER = 224, "no Ray cluster answers at the address in ADAPTBERT_CLUSTER", "75"
    NOT_SHARED = (
        225,
        "stages run on other machines, and code or params.yaml is not committed, the commit not pushed, or there is "
        "no DVC remote",
        _BAD_PARAMS,
    )
    BAD_CLUSTER = 226, "ADAPTBERT_CLUSTER is neither `auto` nor HOST:PORT", _BAD_PARAMS
    SECRET_IN_ADDRESS = (
        227,
        "stages run by Prefect workers, and the address of the git repository has a password",
        _BAD_PARAMS,
    )
    BAD_GRAPH = 228, "dvc.yaml is missing, or DVC cannot read it", _BAD_PARAMS
