"""A property that is worked out when it is first asked for, and kept, without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class kept(Generic[T]):  # noqa: N801  # used as a decorator, as `property` is
    """Like `functools.cached_property`, which in Python 3.11 lets one thread at a time in, over all instances.

    Two threads that ask at the same moment may both work it out. Not for classes with ``__slots__``.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | Self:
        """Work the value out and put it where the instance finds it first from now on."""
        if instance is None:
            return self
        value: T = self._make(instance)
        instance.__dict__[self._make.__name__] = value
        return value
