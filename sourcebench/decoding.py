"""Content encodings undone piece by piece, never past a limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

_BLOCK = 1 << 16  # most bytes that come out at once


class TooLarge(ValueError):
    """A body is, or becomes when decompressed, larger than allowed."""


class Undecodable(ValueError):
    """A body is not encoded as its headers say."""


class Decoder:
    """Undoes the content encodings of a body, piece by piece, up to `limit` bytes.

    Parameters
    ----------
    encoding
        Value of the header Content-Encoding.
    limit
        Most bytes that may come out.

    Raises
    ------
    Undecodable
        If an encoding is none of gzip, deflate and br, or more than two are stacked.
    """

    def __init__(self, encoding: str, limit: int):
        names = [name.strip() for name in encoding.lower().split(",")]
        names = [name for name in names if name not in ("", "identity", "none", "utf-8")]
        unknown = [name for name in names if name not in _DECODERS]
        if unknown or len(names) > 2:
            raise Undecodable(f"content encoding {encoding[:40]!r} is not one we can undo")
        self.limit, self.size = limit, 0
        self._decoders = [_DECODERS[name]() for name in reversed(names)]

    @property
    def ended(self) -> bool:
        """Whether what was fed is a whole body; one without an encoding always is."""
        return all(decoder.ended for decoder in self._decoders)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next piece of the body decodes to, in pieces of bounded size.

        Raises
        ------
        TooLarge
            If more than `limit` bytes came out.
        Undecodable
            If the body is not encoded as its headers say.
        """
        for piece in self._undone(data, self._decoders):
            self.size += len(piece)
            if self.size > self.limit:
                raise TooLarge(f"more than {self.limit} bytes when decompressed")
            yield piece

    def _undone(self, data: bytes, decoders: list[_Inflate | _Brotli]) -> Iterator[bytes]:
        """Pass data through decoders, one after the other."""
        if not decoders:
            yield data
            return
        for piece in decoders[0].feed(data):
            yield from self._undone(piece, decoders[1:])


class _Inflate:
    """Undoes gzip or deflate; members may follow each other, what follows them is ignored."""

    def __init__(self, name: str):
        self._name, self._inner = name, None
        self._after = False  # behind the first member

    @property
    def ended(self) -> bool:
        return self._after and self._inner is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner is None:
                self._inner = zlib.decompressobj(self._window(data))
            try:
                piece = self._inner.decompress(data, _BLOCK)
            except zlib.error as error:
                if self._after:
                    self._inner = None
                    return
                raise Undecodable(f"the body is not {self._name} as announced ({error})") from None
            yield piece
            data = self._inner.unconsumed_tail or self._inner.unused_data
            if self._inner.eof:
                self._inner, self._after = None, True

    def _window(self, data: bytes) -> int:
        """Return zlib's code for the format; deflate comes with and without zlib's header."""
        if self._name == "gzip":
            return zlib.MAX_WBITS | 16
        return zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS


class _Brotli:
    """Undoes br; what follows its end is ignored."""

    def __init__(self):
        import brotli

        self._inner, self._error = brotli.Decompressor(), brotli.error

    @property
    def ended(self) -> bool:
        return self._inner.is_finished()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.ended:
            return
        try:
            while piece := self._inner.process(data, output_buffer_limit=_BLOCK):
                yield piece
                data = b""
        except self._error as error:
            raise Undecodable(f"the body is not br as announced ({error})") from None


_DECODERS: dict[str, Callable[[], _Inflate | _Brotli]] = {
    "gzip": lambda: _Inflate("gzip"),
    "x-gzip": lambda: _Inflate("gzip"),
    "deflate": lambda: _Inflate("deflate"),
    "br": _Brotli,
}
