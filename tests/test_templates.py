"""A new study is complete, and says what to run next."""

from datetime import date

import pytest

from sourcebench.collect import plan_study
from sourcebench.collect.templates import JUDGES, TEMPLATES, new_study
from sourcebench.engines.presets import PRESETS
from sourcebench.engines.settings import check_settings
from sourcebench.study import Study, StudyError

QUERIES = "text,category\nIs it so?,factual\nWhy?,reasoning\n"


@pytest.fixture
def queries(tmp_path):
    """Return a file of two queries."""
    path = tmp_path / "q.csv"
    path.write_text(QUERIES, encoding="utf-8")
    return path


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("judge", ["rules", *JUDGES])
def test_every_template_makes_a_valid_study(tmp_path, queries, template, judge):
    """Settings and queries load, and every system can be planned without a key."""
    folder = tmp_path / "my study"
    command = new_study(folder, template=template, judge=judge, queries=queries, as_of=date(2026, 1, 2))  # fmt: skip
    study = Study(folder)
    assert study.validate() == {"queries": 2}
    assert study.settings.as_of == date(2026, 1, 2)
    assert study.settings.judge == judge
    assert study.settings.seed == 20260102
    assert list(study.settings.systems) == list(TEMPLATES[template])
    if template == "own":
        assert command == f"sourcebench import answers.csv --study '{folder}'"
    else:
        assert command == f"sourcebench collect '{folder}' --dry-run"
        assert all(len(plan.todo) == 2 for plan in plan_study(study))


def test_settings_of_presets_survive_the_file(tmp_path, queries):
    """What study.toml says of a system is what the preset says, and the runs."""
    new_study(tmp_path / "s", template="paper", queries=queries, runs=3)
    systems = Study(tmp_path / "s").settings.systems
    for name, settings in PRESETS.items():
        assert systems[name] == {**settings, "runs": 3}
        check_settings(systems[name])


def test_systems_can_be_chosen(tmp_path, queries):
    """A list of presets takes the place of the template's."""
    new_study(tmp_path / "s", systems=["Exa", "GPT-5"], queries=queries)
    assert list(Study(tmp_path / "s").settings.systems) == ["Exa", "GPT-5"]


def test_own_answers_need_no_queries(tmp_path):
    """A study for answers of one's own starts empty; its next command takes the queries in too."""
    command = new_study(tmp_path / "s", template="own", title='A "quoted" title\n')
    assert command.endswith("--add-queries --category general")
    assert Study(tmp_path / "s").settings.title == 'A "quoted" title\n'


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"template": "big"}, "no template 'big'; templates are own, small, paper"),
        ({"systems": ["Bing"]}, "no preset 'Bing'; presets are GPT-5"),
        ({"judge": "me"}, "no judge 'me'; judges are rules, qwen-plus"),
        ({"queries": "missing.csv"}, "missing.csv: no such file"),
    ],
)
def test_wrong_names_leave_no_folder(tmp_path, more, message):
    """Nothing is made when something is not known."""
    with pytest.raises(StudyError, match=message):
        new_study(tmp_path / "s", **more)
    assert not (tmp_path / "s").exists()


def test_a_folder_in_use_is_left_alone(tmp_path, queries):
    """A folder with something in it is not written to."""
    with pytest.raises(StudyError, match="is there already; choose a new folder"):
        new_study(tmp_path, queries=queries)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modell": "x"}, "unknown setting 'modell'; known are label"),
        ({"runs": "2"}, "runs must be a whole number, found '2'"),
        ({"runs": True}, "runs must be a whole number, found True"),
        ({"runs": 0}, "runs must be more than 0, found 0"),
        ({"engine": "bing"}, "engine must be one of openai"),
        ({"model": ""}, "model is missing"),
        ({"price": {"input": "1"}}, "price holds numbers for input, output and call, found input = '1'"),
        ({"key": "HOME"}, "ends in _API_KEY or starts with SOURCEBENCH_, found 'HOME'"),
        ({"key": "sk-1234567890abcdef"}, r"found 'sk-'\.\.\. \(19 characters\)"),
        ({"base_url": "api.example.org"}, "base_url must be an http"),
        ({"base_url": "http://api.example.org/v1"}, "a key is only sent over https"),
        ({"engine": "deepseek", "tool": "bing"}, "no tool or interface 'bing'"),
        ({"engine": "google", "api": "bing"}, "no tool or interface 'bing'"),
    ],
)  # fmt: skip
def test_settings_of_a_system_are_checked(change, message):
    """The setting, what was expected and what was found; a key by mistake is not shown."""
    with pytest.raises(ValueError, match=message):
        check_settings({"engine": "openai", "model": "gpt-5", **change})
