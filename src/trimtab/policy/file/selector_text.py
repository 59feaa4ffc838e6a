"""The written form of a label selector: `a=b, c!=d, e in (x,y), f notin (z), g, !h, i>3`."""

import re
from functools import lru_cache

from trimtab.errors import ConfigError
from trimtab.model.selectors import LabelSelector, Operator, Requirement

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|=|!|>|<|\(|\)|,)|([^=!(),<> \t\r\n]+))[ \t\r\n]*")
_BINARY: dict[str, Operator] = {
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    "in": "In",
    "notin": "NotIn",
    ">": "Gt",
    "<": "Lt",
}
_SYMBOLS = {"==", "!=", "=", "!", ">", "<", "(", ")", ","}


@lru_cache(maxsize=256)
def parse_selector(text: str, field: str) -> LabelSelector:
    """Read a selector; the empty text selects everything. Errors name `field`."""
    return _Parser(text, field).selector()


class _Parser:
    def __init__(self, text: str, field: str) -> None:
        self._text, self._field = text, field
        self._tokens = [symbol or word for symbol, word in _TOKEN.findall(text)]
        self._at = 0

    def selector(self) -> LabelSelector:
        requirements: list[Requirement] = []
        if self._tokens:
            requirements.append(self._requirement())
        while self._at < len(self._tokens):
            self._expect(",")
            requirements.append(self._requirement())
        for requirement in requirements:
            if problem := requirement.problem():
                raise self._error(problem)
        ordered = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        return LabelSelector(self._text, ordered)

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._at += 1
        key = self._word("a label key")
        if absent or self._peek() in ("", ","):
            return Requirement(key, "DoesNotExist" if absent else "Exists")
        operator = self._next()
        if operator not in _BINARY:
            raise self._error(f"found {operator!r} after {key!r}, expected an operator")
        values = self._values() if operator in ("in", "notin") else (self._exact(),)
        return Requirement(key, _BINARY[operator], values)

    def _values(self) -> tuple[str, ...]:
        self._expect("(")
        values = [self._listed()]
        while self._peek() == ",":
            self._at += 1
            values.append(self._listed())
        self._expect(")")
        return tuple(dict.fromkeys(values))

    def _listed(self) -> str:
        return "" if self._peek() in (",", ")") else self._word("a value")

    def _exact(self) -> str:
        return "" if self._peek() in ("", ",") else self._word("a value")

    def _word(self, what: str) -> str:
        token = self._next()
        if not token or token in _SYMBOLS:
            raise self._error(f"found {token!r}, expected {what}")
        return token

    def _expect(self, symbol: str) -> None:
        if (token := self._next()) != symbol:
            raise self._error(f"found {token!r}, expected {symbol!r}")

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(f"{self._field}: {self._text!r} is not a label selector: {problem}")
