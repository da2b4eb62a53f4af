"""Count the tokens and the lines of code of Python files and notebooks.

python tests/code_size.py            compare the checkout with its limits
python tests/code_size.py --lower    write today's numbers where they are lower than the limits
"""

import argparse
import ast
import io
import json
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
TOTALS = ROOT / "tests" / "limits" / "tokens.csv"  # group, tokens
EXEMPT = ROOT / "tests" / "limits" / "not_rewritten_yet.csv"  # path, tokens_per_line
MOST_TOKENS_PER_LINE = 10.5
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def count(source: str) -> tuple[int, int]:
    """Return the number of tokens of some code, and its number of lines.

    Comments, docstrings, blank lines and indentation do not count. An f-string counts as
    one token plus the tokens of the expressions in it.
    """
    tree = ast.parse(source)
    docstring_lines = set(_docstring_lines(tree))
    kept = [
        token
        for token in _tokens(source)
        if token.type not in NO_CODE and token.start[0] not in docstring_lines
    ]
    tokens = len(kept)
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue):
            inside = _tokens(ast.unparse(node.value))
            tokens += sum(token.type not in NO_CODE for token in inside)
    return tokens, len({token.start[0] for token in kept})


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the line numbers of all docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            docstring = node.body[0]
            yield from range(docstring.lineno, docstring.end_lineno + 1)


def _tokens(source: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of some code, with one token for each f-string.

    Python 3.11 gives one token for an f-string; later versions give several.
    """
    tokens = []
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        if name == "FSTRING_START":
            depth += 1
            if depth > 1:
                continue
        elif name == "FSTRING_END":
            depth -= 1
            continue
        elif depth:
            continue
        tokens.append(token)
    return tokens


def code_of_notebook(path: Path) -> str:
    """Return the code cells of a notebook as one module, without magics."""
    lines = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not source.lstrip().startswith("%%"):
            lines += source.splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))


def group_of(path: str) -> str:
    """Return the group whose total a file belongs to."""
    first = path.split("/")[0]
    if path.endswith(".ipynb"):
        return "lessons"
    if first == "tests" or path == "conftest.py":
        return "tests"
    if first in ("helpers", "synthetic"):
        return first
    return "sweeps and root scripts"


def code_files() -> Iterator[Path]:
    """Yield the Python files and notebooks of the checkout."""
    for top in sorted(ROOT.iterdir()):
        if top.name.startswith(".") or top.name == "outputs":
            continue
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            hidden = any(part.startswith(".") for part in path.relative_to(ROOT).parts)
            if path.suffix in (".py", ".ipynb") and not hidden:
                yield path


def measure() -> pd.DataFrame:
    """Return path, group, tokens and lines of all code in the checkout."""
    rows = []
    for path in code_files():
        name = path.relative_to(ROOT).as_posix()
        source = code_of_notebook(path) if path.suffix == ".ipynb" else path.read_text()
        rows.append((name, group_of(name), *count(source)))
    return pd.DataFrame(rows, columns=["path", "group", "tokens", "lines"])


def style_errors() -> dict[str, int]:
    """Return the number of long lines and docstring faults that ruff finds, by file."""
    command = [sys.executable, "-m", "ruff", "check"]
    command += ["--output-format=json", "--exit-zero"]
    command += ["--select=E501,D", "--config=lint.ignore=[]"]
    command += ["--config=lint.pydocstyle.convention='numpy'"]
    found = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    )
    errors: dict[str, int] = {}
    for error in json.loads(found.stdout):
        name = Path(error["filename"]).relative_to(ROOT).as_posix()
        about_docstrings = error["code"].startswith("D")
        if name.endswith(".ipynb"):
            continue
        if about_docstrings and group_of(name) not in ("helpers", "synthetic"):
            continue
        errors[name] = errors.get(name, 0) + 1
    return errors


def fit_for_the_rules(files: pd.DataFrame) -> pd.Series:
    """Return whether each file meets the limit on density and the rules of style."""
    errors = style_errors()
    density = files["tokens"] / files["lines"].clip(lower=1)
    is_plain = (density <= MOST_TOKENS_PER_LINE) | (files["group"] == "synthetic")
    return is_plain & ~files["path"].isin(list(errors))


def main() -> None:
    """Print the totals and, if asked, lower the limits to them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()
    files = measure()
    limits = pd.read_csv(TOTALS, index_col="group")["tokens"]
    totals = files.groupby("group")["tokens"].sum().reindex(limits.index, fill_value=0)
    print(pd.DataFrame({"tokens": totals, "limit": limits}).to_string())
    if not options.lower:
        return
    lowered = totals.clip(upper=limits)
    lowered.rename("tokens").to_csv(TOTALS)
    exempt = pd.read_csv(EXEMPT, index_col="path")["tokens_per_line"]
    files["tokens_per_line"] = (files["tokens"] / files["lines"].clip(lower=1)).round(2)
    kept = files[files["path"].isin(exempt.index) & ~fit_for_the_rules(files)]
    kept = kept.set_index("path")["tokens_per_line"]
    kept.clip(upper=exempt.reindex(kept.index)).to_csv(EXEMPT)


if __name__ == "__main__":
    main()
