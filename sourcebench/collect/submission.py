"""Submissions to the SourceBench leaderboard: written from a study, and checked by its contract (v1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sourcebench.collect.listing import url_fault
from sourcebench.collect.publicfiles import public_collection
from sourcebench.collect.rowfile import Fault, Row

if TYPE_CHECKING:
    from sourcebench.study import Study

MODES = ("endpoint", "answer_url_bundle")
ABOUT = (
    "submitter_name",
    "contact_email",
    "web_search_mode",
    "agrees_to_reproducibility_policy",
    "organization",
    "model_version",
    "model_name",
)  # what a bundle says beside its answers; the first four are required
PLACEHOLDER = "REPLACE_WITH_REAL_SECRET"
_COMMON = ("submitter_name", "contact_email", "model_name", "web_search_mode")


# --- checking ------------------------------------------------------------------------------------


def check_submission(submission: Any) -> tuple[list[str], list[str]]:
    """Check a submission by the leaderboard's contract.

    Parameters
    ----------
    submission
        What the file holds.

    Returns
    -------
    faults, advice : list of str
        What makes the submission invalid, and what the contract recommends or a reviewer would
        flag. Each names the field, what was expected and what was found.
    """
    if not isinstance(submission, dict):
        return [f"expected an object, found {type(submission).__name__}"], []
    mode = submission.get("submission_mode")
    if mode not in MODES:
        return [f"submission_mode: expected one of {', '.join(MODES)}, found {mode!r}"], []
    faults = [_text_fault(submission, name) for name in _COMMON]
    faults += [_email_fault(submission.get("contact_email"))]
    if submission.get("agrees_to_reproducibility_policy") is not True:
        found = submission.get("agrees_to_reproducibility_policy")
        faults.append(f"agrees_to_reproducibility_policy: must be true, found {found!r}")
    advice = [
        f"{name}: recommended, and missing"
        for name in ("model_version", "organization")
        if name not in submission
    ]
    check = _check_endpoint if mode == "endpoint" else _check_bundle
    more, said = check(submission)
    return [fault for fault in (*faults, *more) if fault], advice + said


def _text_fault(holder: Mapping[str, Any], name: str) -> str:
    """Return what is wrong with a field that must be a text with something in it."""
    value = holder.get(name)
    if name not in holder:
        return f"{name}: missing"
    if not isinstance(value, str) or not value.strip():
        return f"{name}: expected a text, found {value!r}"
    return ""


def _email_fault(value: Any) -> str:
    """Return what is wrong with an address for mail."""
    if not isinstance(value, str) or not value.strip():
        return ""  # said already
    name, _, host = value.rpartition("@")
    fine = name and "." in host and " " not in value
    return "" if fine else f"contact_email: expected an address for mail, found {value!r}"


def _check_endpoint(submission: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Check the fields of an endpoint submission."""
    faults = [_text_fault(submission, name) for name in ("api_base", "api_key")]
    base, form = submission.get("api_base"), submission.get("api_format")
    if isinstance(base, str) and base.strip() and (fault := url_fault(base.strip())):
        faults.append(f"api_base: {fault}")
    if form != "openai-compatible":
        faults.append(f"api_format: must be 'openai-compatible', found {form!r}")
    config = submission.get("generation_config")
    if config is not None and not isinstance(config, dict):
        faults.append(f"generation_config: expected an object, found {type(config).__name__}")
    prompt = submission.get("system_prompt")
    if prompt is not None and not isinstance(prompt, str):
        faults.append(f"system_prompt: expected a text or nothing, found {type(prompt).__name__}")
    advice = []
    if submission.get("api_key") == PLACEHOLDER:
        advice.append("api_key: still the placeholder; put the key in only when you submit")
    return faults, advice


def _check_bundle(submission: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Check the runs of a bundle of answers."""
    runs = submission.get("runs")
    if not isinstance(runs, list) or not runs:
        return ["runs: expected a list with one entry a query, found nothing there"], []
    faults: list[str] = []
    advice: list[str] = []
    seen: dict[str, int] = {}
    texts: dict[str, int] = {}
    for place, run in enumerate(runs):
        if not isinstance(run, dict):
            faults.append(f"runs[{place}]: expected an object, found {type(run).__name__}")
            continue
        faults += _run_faults(place, run)
        query_id = str(run.get("query_id"))
        if query_id in seen:
            faults.append(
                f"runs[{place}].query_id: {query_id!r} stands in runs[{seen[query_id]}] already; "
                "the leaderboard's code would give both the last one's scores"
            )
        seen.setdefault(query_id, place)
        text = str(run.get("answer_text")).strip()
        if text in texts:
            advice.append(f"runs[{place}].answer_text: the same as in runs[{texts[text]}]")
        texts.setdefault(text, place)
        if run.get("raw_response") is None:
            advice.append(f"runs[{place}].raw_response: recommended, and missing")
    return faults, advice


def _run_faults(place: int, run: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with one run of a bundle."""
    faults = []
    query_id = run.get("query_id")
    if isinstance(query_id, bool) or not isinstance(query_id, (int, str)) or query_id == "":
        faults.append(f"query_id: expected a text or a whole number, found {query_id!r}")
    if fault := _text_fault(run, "answer_text"):
        faults.append(fault)
    urls = run.get("cited_urls")
    if not isinstance(urls, list) or not urls:
        faults.append("cited_urls: expected a list with an address, found nothing there")
    else:
        for number, url in enumerate(urls):
            fault = url_fault(url.strip()) if isinstance(url, str) else f"{url!r} is no text"
            if fault:
                faults.append(f"cited_urls[{number}]: {fault}")
    return [f"runs[{place}].{fault}" for fault in faults]


# --- reading and writing -------------------------------------------------------------------------


def submission_rows(submission: Mapping[str, Any], faults: list[Fault]) -> list[Row]:
    """Return the runs of a bundle as rows of the import.

    Parameters
    ----------
    submission
        A bundle of answers.
    faults
        Takes what the contract finds wrong.
    """
    found, _ = check_submission(submission)
    if submission.get("submission_mode") == "endpoint":
        found = ["submission_mode: an endpoint submission holds no answers"]
    faults += [Fault(1, "", fault) for fault in found]
    if found:
        return []
    return [
        Row(
            number,
            {
                "query_id": run["query_id"],
                "system": submission["model_name"],
                "answer": run["answer_text"],
                "urls": run["cited_urls"],
                "raw": run.get("raw_response"),
            },
        )
        for number, run in enumerate(submission["runs"], start=1)
    ]


def answer_url_bundle(
    study: Study, system: str, *, run: int = 1, **about: Any
) -> tuple[dict[str, Any], list[str]]:
    """Return a system's answers as a bundle for the leaderboard.

    Parameters
    ----------
    study, system
        The study and one of its systems.
    run
        Which of the answers to each query.
    about
        `submitter_name`, `contact_email`, `web_search_mode`; `organization`, `model_version`,
        `model_name` (by default the system), `agrees_to_reproducibility_policy`.

    Returns
    -------
    submission : dict
    left_out : list of str
        Queries whose answer the contract does not take, with the reason.

    Raises
    ------
    ValueError
        Names every field that makes the submission invalid.
    """
    made, left_out = [], []
    for record in public_collection(study, system):
        chosen = next((r for r in record["runs"] if r["query_order"] == run), None)
        urls = list(dict.fromkeys(s["url"] for s in chosen["cited_sources"])) if chosen else []
        entry = {
            "query_id": record["query_id"],
            "answer_text": chosen["response_text"] if chosen else "",
            "cited_urls": [url for url in urls if url_fault(url) is None],
            "raw_response": chosen["raw_response"] if chosen else None,
        }
        why = _run_faults(0, entry)
        if why:
            left_out.append(f"{record['query_id']}: {why[0].removeprefix('runs[0].')}")
        else:
            made.append(entry)
    submission = {"submission_mode": "answer_url_bundle", "model_name": system, **about}
    return _checked(submission | {"runs": made}), left_out


def endpoint_submission(**about: Any) -> dict[str, Any]:
    """Return a submission of an endpoint; the key is a placeholder, since no file may hold one.

    Parameters
    ----------
    about
        `submitter_name`, `contact_email`, `model_name`, `api_base`, `web_search_mode`;
        `organization`, `model_version`, `generation_config`, `system_prompt`, `notes`,
        `agrees_to_reproducibility_policy`.

    Raises
    ------
    ValueError
        Names every field that makes the submission invalid.
    """
    if "api_key" in about:
        raise ValueError("api_key: not taken here; put the key in only when you submit")
    fixed = {"submission_mode": "endpoint", "api_format": "openai-compatible"}
    return _checked({**fixed, **about, "api_key": PLACEHOLDER})


def _checked(submission: dict[str, Any]) -> dict[str, Any]:
    """Return a submission if the contract takes it."""
    faults, _ = check_submission(submission)
    if faults:
        raise ValueError(f"submission: {'; '.join(faults)}")
    return submission
