"""What the API server may answer, named for what the caller can do about it.

The causes of an answer stay attached: for a 422 which field is wrong and why, for a conflict
of server-side apply which field belongs to whom.
"""

from msgspec import DecodeError, Struct, json

from trimtab import errors


class Cause(Struct, frozen=True):
    reason: str = ""
    field: str = ""
    message: str = ""


class Details(Struct, frozen=True):
    causes: list[Cause] | None = None


class Status(Struct, frozen=True):
    """The API's own error object."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class ApiError(errors.TrimtabError):
    """The API server refused or failed; `code` 0 means that it did not answer at all."""

    def __init__(self, what: str, status: Status) -> None:
        said = status.message or status.reason or f"HTTP {status.code}"
        super().__init__(f"{said} ({what})")
        details = status.details or Details()
        self.code = status.code
        self.reason = status.reason
        self.message = status.message
        self.causes = tuple(details.causes or ())


class NotFound(ApiError):
    """No such object, or the kind itself is not served."""


class ImpossibleName(NotFound, errors.ConfigError):
    """A name that no object can have: it was not put into a URL, and nothing was asked."""


class Conflict(ApiError, errors.Conflict):
    """Another write came first, or a precondition (uid, resourceVersion) did not hold."""


class AlreadyExists(Conflict):
    """Create found an object of that name."""


class Expired(ApiError):
    """The resourceVersion or continue token is too old: list again."""


class Invalid(ApiError, errors.ConfigError):
    """The object or request was refused as it is (400, 422); see `causes`."""


class Forbidden(ApiError):
    """These credentials may not do that (401, 403)."""


class TooManyRequests(ApiError, errors.Unavailable):
    """Asked to come back later: the server is busy, or an eviction was not granted now."""


class Unavailable(ApiError, errors.Unavailable):
    """No answer, or one that blames the server (5xx)."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def error_from(what: str, status: Status) -> ApiError:
    """The error for an API Status; `what` is the request in words."""
    if status.reason == "AlreadyExists":
        return AlreadyExists(what, status)
    kind = _BY_CODE.get(status.code, Unavailable if status.code >= 500 else ApiError)
    return kind(what, status)


def error_from_body(what: str, code: int, body: bytes) -> ApiError:
    """The error for an HTTP answer; proxies and overloaded servers send no Status."""
    try:
        status = json.decode(body, type=Status)
    except DecodeError:
        status = Status(message=body[:200].decode(errors="replace").strip())
    return error_from(what, Status(code, status.reason, status.message, status.details))


def impossible_name(name: str) -> ImpossibleName:
    message = f"no object can be called {name!r}; a name has no / or %, and is not . or .."
    return ImpossibleName("not asked", Status(404, "NotFound", message))


def no_answer(what: str, why: BaseException) -> Unavailable:
    return Unavailable(what, Status(reason="NoAnswer", message=str(why) or type(why).__name__))
