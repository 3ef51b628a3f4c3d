"""The shape of the package: imports run one way, and nothing happens on import."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "sourcebench"
STAGES = ("collect", "fetch", "extract", "judge", "support", "score", "measures")
# What a language model has to be asked goes through the judge's room: endpoint, journal, fence.
ASK_THE_JUDGE = ("support", "measures")


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


def imports(path: Path, *, everywhere: bool) -> set[str]:
    """Return the modules of the package that a file imports, at its top level or anywhere."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = ast.walk(tree) if everywhere else iter(tree.body)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return {name for name in found if name in MODULES}


def test_imports_form_no_circle():
    """Following imports at module level never leads back."""
    graph = {name: imports(path, everywhere=False) for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                if not name.startswith(other + "."):
                    visit(other, (*trail, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


def stage_of(name: str) -> str:
    """Return the stage that a module belongs to, or nothing."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in STAGES else ""


def test_stages_do_not_import_stages():
    """Only the pipeline, the command line and the sample know more than one stage."""
    for name, path in MODULES.items():
        mine = stage_of(name)
        if not mine:
            continue
        others = {stage_of(other) for other in imports(path, everywhere=True)} - {mine, ""}
        others -= {"judge"} if mine in ASK_THE_JUDGE else set()
        others -= {"score"} if mine == "support" else set()  # joins support with source scores
        assert not others, f"{name} imports {sorted(others)}"


def test_statistics_know_nothing_of_the_web():
    """Intervals, ranks, correlations and figures see data frames only."""
    rooms = ("statistics", "figures", "render")
    for name, path in MODULES.items():
        if name.split(".")[1:2] and name.split(".")[1] in rooms:
            found = {other.split(".")[1] for other in imports(path, everywhere=True)}
            assert not found & {"collect", "engines", "fetch", "extract", "judge"}, name


def test_every_module_says_what_it_is():
    """Each module opens with one sentence, and each public function has a docstring."""
    for name, path in MODULES.items():
        tree = ast.parse(path.read_text("utf-8"))
        assert ast.get_docstring(tree), name
        for node in tree.body:
            public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
            assert not public or ast.get_docstring(node), f"{name}.{node.name}"


def test_functions_fit_a_screen():
    """No function has more than fifty lines of code."""
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[1 if ast.get_docstring(node) else 0 :]
                length = node.end_lineno - first[0].lineno + 1 if first else 0
                assert length <= 50, f"{name}.{node.name}: {length} lines"
