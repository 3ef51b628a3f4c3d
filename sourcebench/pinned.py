"""Public files that studies start from: pulled on demand, kept outside the study, checked by SHA-256."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from sourcebench.study import StudyError, sha256


class Pinned(NamedTuple):
    """A public file at a fixed commit."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        """Return the file's name."""
        return self.url.rpartition("/")[2]


def pinned_file(
    file: Pinned,
    *,
    local: str | Path | None = None,
    cache: str | Path | None = None,
    downloader: Any = None,
) -> Path:
    """Return a copy of a public file; it is downloaded once, and its SHA-256 is checked each time.

    Parameters
    ----------
    file
        The file.
    local
        A copy of it, for machines without a network; it must have the same SHA-256.
    cache
        Folder for the download; by default the user's cache folder.
    downloader
        A downloader as pooch takes it, in place of HTTPS.

    Raises
    ------
    StudyError
        If the file can't be had, or is not the pinned one.
    """
    path = Path(local) if local is not None else _downloaded(file, cache, downloader)
    if not path.exists():
        raise StudyError(f"{path}: no such file")
    found = sha256(path)
    if found != file.sha256:
        raise StudyError(
            f"{path}: SHA-256 is {found}, expected {file.sha256}; this is not the pinned file {file.url}"
        )
    return path


def _downloaded(file: Pinned, cache: str | Path | None, downloader: Any) -> Path:
    """Return the downloaded file, from the cache where it is there."""
    import pooch

    folder = Path(cache) if cache is not None else Path(pooch.os_cache("sourcebench"))
    try:
        found = pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=downloader,
        )
    except (OSError, ValueError) as error:
        kind = "is not the pinned file" if isinstance(error, ValueError) else "can't be reached"
        raise StudyError(
            f"{file.url} {kind}; put a copy with SHA-256 {file.sha256} to {folder / file.name}, "
            "or name your copy"
        ) from None
    return Path(found)
