"""Draw which part of the package imports which: ``python tools/imports.py``.

The picture is a Mermaid graph in ``CONTRIBUTING.md``. An arrow is left out if a longer
path of arrows has the same start and end.
"""

import ast
import re
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
GRAPH = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)


def imported_parts(path: Path) -> set[str]:
    """Return the parts of the package that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "helpers":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "helpers":
                names.add(parts[1])
    return names


def graph() -> str:
    """Return the imports between the parts of the package as a Mermaid graph."""
    package = ROOT / "helpers"
    places = {
        path: path.relative_to(package).parts[0] for path in package.rglob("*.py")
    }
    parts = {place.removesuffix(".py") for place in places.values()} - {"__init__"}
    imports = nx.DiGraph()
    for path, place in places.items():
        part = place.removesuffix(".py")
        for other in imported_parts(path) & parts - {part}:
            imports.add_edge(part, other)
    arrows = sorted(nx.transitive_reduction(imports).edges)
    lines = ["graph TD", *(f"  {part} --> {other}" for part, other in arrows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(GRAPH.sub(graph(), PAGE.read_text()))
