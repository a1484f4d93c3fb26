"""What the options of every task type have in common."""

from abc import abstractmethod

from adaptbert.base.config import Config


class TaskOptions(Config):
    """Options of a task type."""

    def check_room(self, max_length: int) -> None:
        """Refuse windows that would leave out tokens."""

    @classmethod
    @abstractmethod
    def example(cls, max_length: int) -> str:
        """Example options for an error message."""


class SentenceOptions(TaskOptions):
    """Options of sentences and pairs."""

    @classmethod
    def example(cls, max_length: int) -> str:
        return "{long_text: head}"
