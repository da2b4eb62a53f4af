"""Reading JSON as the tools write it: a list, an object, JSON lines, or a folder of files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.detection.data import DetectionDataError


def parse(text: str, place: str, line: int = 0) -> Any:
    """JSON from text that begins after `line` lines; the refusal names place, line and column.

    Raises
    ------
    DetectionDataError
        Where the text is not whole, well-formed JSON.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        what = "was cut short" if ends else "is not JSON there"
        raise DetectionDataError(
            f"{place}, line {line + error.lineno}, column {error.colno} (character {error.pos} of "
            f"{len(text)}): the file {what} ({error.msg}); copy or download it again"
        ) from None


def load(path: Path) -> Any:
    """Content of one JSON file; the refusal names the file.

    Raises
    ------
    DetectionDataError
        When there is no such file, or it is not whole.
    """
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file in {path.parent.name!r}")
    return parse(_text(path), path.name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DetectionDataError(
            f"{path.name}, byte {error.start}: not UTF-8 text; give the JSON file itself, unpacked"
        ) from None


def frames(path: str | Path) -> Iterator[tuple[str, dict]]:
    """Frames of a label or prediction file in Scalabel's format, one after another.

    Parameters
    ----------
    path
        A JSON file that holds a list of frames, an object with ``frames``, or one frame; a JSON
        lines file with a frame a line; or a folder with a file a frame.

    Yields
    ------
    (place, frame)
        Where the frame stands, for messages, and the frame.
    """
    path = Path(path)
    if path.is_dir():
        paths = sorted(p for p in path.rglob("*.json*") if p.is_file())
        if not paths:
            raise DetectionDataError(f"{path.name}: the folder holds no .json file")
        for one in paths:
            yield from frames(one)
        return
    if not path.is_file():
        raise DetectionDataError(f"{path.name}: there is no such file or folder")
    if path.suffix in (".jsonl", ".ndjson"):
        yield from _lines(path)
        return
    yield from _in_object(parse(_text(path), path.name), path.name)


def _lines(path: Path) -> Iterator[tuple[str, dict]]:
    for number, line in enumerate(_text(path).splitlines()):
        if line.strip():
            place = f"{path.name}, line {number + 1}"
            yield place, _frame(parse(line, path.name, number), place)


def _in_object(content: Any, name: str) -> Iterator[tuple[str, dict]]:
    if isinstance(content, dict) and "name" in content:
        yield name, _frame(content, name)
        return
    if isinstance(content, dict):
        content = content.get("frames")
    if not isinstance(content, list):
        raise DetectionDataError(
            f"{name}: neither a list of frames, nor an object with 'frames', nor one frame"
        )
    for number, frame in enumerate(content):
        yield f"{name}, frame {number}", _frame(frame, f"{name}, frame {number}")


def _frame(frame: Any, place: str) -> dict:
    if not isinstance(frame, dict) or not isinstance(frame.get("name"), str):
        raise DetectionDataError(f"{place}: a frame is an object with a 'name'")
    if not isinstance(frame.get("attributes") or {}, dict):
        raise DetectionDataError(f"{place}: 'attributes' is an object, name and value each")
    return frame
