"""Verdicts of experts and of the offline verifiers on ExpertQA: agreement and corrected shares.

    python benchmarks/expertqa.py rand_val.jsonl [--verifier rules]

The file is a split of ExpertQA (Malaviya et al. 2024, MIT). With sentence embeddings it takes some minutes.
The line for "supported" is chosen anew in each fold, by question, so no claim is judged by a line that saw
it. The two scores themselves were chosen by looking at this split: a figure on other examples of
ExpertQA may be lower by about .01 to .03.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sourcebench.sections.annotators import ceiling_note
from sourcebench.statistics.intervals import cluster_mean
from sourcebench.support import load_support, make_verifier, verify_study
from sourcebench.support.checking import (
    balanced_accuracy,
    confusion_of,
    corrected_by_a_sample,
    labelled,
    support_agreement,
    support_by_labels,
)
from sourcebench.support.expertqa import Claim, import_expertqa, read_expertqa
from sourcebench.support.measures import response_values, statement_values
from sourcebench.support.passages import Passages
from sourcebench.support.rules import PLANTED, RulesVerifier, best_match
from sourcebench.support.rules import Claim as Compared
from sourcebench.support.stage import OFFLINE
from sourcebench.support.statements import plain_statement

SHORTEST = 200  # characters of evidence from which a claim can be verified
FOLDS, SEEDS, DRAWS = 10, 5, 200


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--verifier", choices=OFFLINE, default="semantic")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = import_expertqa(chosen.file, Path(folder) / "study")
        verifier = make_verifier(study, chosen.verifier)
        verify_study(study, verifiers=[verifier], scope="cited")
        whole_study(study, chosen.verifier)
    answers = read_expertqa(chosen.file)
    own_evidence([c for answer in answers for c in answer.claims], verifier)


def whole_study(study, verifier: str) -> None:
    """Print the experts' shares, the verifier's, how they meet, and the corrected shares."""
    support, labels = load_support(study, verifier), study.load("support_labels")
    queries = study.load("queries")
    experts = support_by_labels(support, labels)
    print("Support in percent, rule: cited source (n; 95% interval, clustered by question)")
    for name, one in (("experts", experts), ("verifier", support)):
        for reading in ("reachable", "strict"):
            statements = statement_values(one, "cited", reading)
            responses = response_values(one, "cited", reading)
            for system in sorted(statements["system"].unique()):
                cells = [
                    _cell(frame[frame["system"] == system], queries)
                    for frame in (statements, responses)
                ]
                print(
                    f"  {name:8} {reading:9} {system:20} statements {cells[0]}  responses {cells[1]}"
                )
    pairs = labelled(support, labels)
    print(
        "\nVerifier (down) against experts (across), all claims\n",
        confusion_of(pairs).to_string(),
        sep="",
    )
    print("\n", _agreement(pairs), sep="")
    corrected(pairs)
    print("\nReliability of the sources:", ceiling_note(support, labels))


def _cell(frame: pd.DataFrame, queries: pd.DataFrame) -> str:
    """Return one share in percent."""
    e = cluster_mean(frame, "value", queries=queries, limits=(0, 1), strata=None)
    return (
        f"{100 * e.value:5.1f} [{100 * e.low:5.1f}, {100 * e.high:5.1f}] {e.n:4} of {e.expected:4}"
    )


def _agreement(pairs: pd.DataFrame) -> str:
    """Return an agreement in words."""
    a = support_agreement(pairs)
    b = a.balanced
    return (
        f"complete or not: n {a.n}, agreement {a.agreement.value:.3f} (a constant {a.always:.3f}), balanced "
        f"accuracy {b.value:.3f} [{b.low:.3f}, {b.high:.3f}], sensitivity {a.sensitivity:.3f}, specificity "
        f"{a.specificity:.3f}, kappa {a.kappa:.3f}"
    )


def corrected(pairs: pd.DataFrame) -> None:
    """Print how near label-corrected shares come to the share by all experts' labels."""
    table = corrected_by_a_sample(pairs, draws=DRAWS, rng=np.random.default_rng(0))
    print(f"\nLabels of a third of the questions, {DRAWS} draws; experts: share by all labels")
    for row in table.itertuples():
        print(
            f"  {row.system:20} experts {100 * row.truth:5.1f}  verifier {100 * row.verifier:5.1f}  "
            f"prediction-powered {100 * row.ppi:5.1f} (error {100 * row.ppi_error:4.1f}, inside "
            f"{row.ppi_inside:.0%})  Rogan-Gladen from other systems {100 * row.rg:5.1f} "
            f"(error {100 * row.rg_error:4.1f}, inside {row.rg_inside:.0%})"
        )


# --- each claim against its own evidence ---------------------------------------------------------


def own_evidence(claims: list[Claim], verifier: RulesVerifier) -> None:
    """Print cross-validated figures on claims with enough evidence: complete against not complete."""
    words = ("Complete", "Partial", "Incomplete")
    used = [c for c in claims if c.support in words and _length(c) >= SHORTEST]
    label = np.array([c.support == "Complete" for c in used], dtype=float)
    groups = np.array([c.query_id for c in used])
    print(
        f"\nClaims with {SHORTEST} characters of evidence or more: {len(used)}, complete {int(label.sum())}"
    )
    scores = {"content words": [], "verifier": []}
    for claim in used:
        passages = Passages("\n\n".join(e.text for e in claim.evidence), PLANTED)
        compared = Compared.of(plain_statement(claim.text))
        held = {s for stems in passages.stems for s in stems}
        scores["content words"].append(
            len(compared.weights.keys() & held) / max(len(compared.weights), 1)
        )
        near = next(iter(verifier.nearness([compared.text], passages)))
        match = best_match(compared, passages, verifier.thresholds, near)
        # A figure or a name that is missing rules out full support, whatever the score.
        scores["verifier"].append(match.score if match and not match.conflict else -1.0)
    fixed = np.array(scores["verifier"]) >= verifier.thresholds.supported
    print(f"  with the line as it is set: {balanced_accuracy(fixed.astype(float), label):.3f}")
    for name, values in scores.items():
        found = [cross_validated(np.array(values), label, groups, seed) for seed in range(SEEDS)]
        print(
            f"  {name:14} balanced accuracy {np.mean(found):.3f} (over {SEEDS} splits {min(found):.3f} to {max(found):.3f})"
        )


def _length(claim: Claim) -> int:
    """Return the characters of a claim's evidence."""
    return sum(len(e.text) for e in claim.evidence)


def cross_validated(score, label, groups, seed: int) -> float:
    """Return balanced accuracy with the line chosen on the other questions."""
    names = np.random.default_rng(seed).permutation(np.unique(groups))
    said = np.zeros(len(label))
    for fold in np.array_split(names, FOLDS):
        held = np.isin(groups, fold)
        lines = np.quantile(score[~held], np.linspace(0.05, 0.95, 61))
        best = [balanced_accuracy((score[~held] >= t).astype(float), label[~held]) for t in lines]
        said[held] = score[held] >= lines[int(np.argmax(best))]
    return balanced_accuracy(said, label)


if __name__ == "__main__":
    main()
