"""Words of the project's own that the field's terms have replaced do not come back: the glossary lists them."""

import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "compiler" / "docs" / "glossary.md"
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
TERMS = re.compile(r"in_?place(?![a-z])|real_part", re.IGNORECASE)
"""Terms of the field that have such a word in them."""
PROSE = re.compile(
    r"\b(each|every|next|last|first|another|per|no|one|a|few|many|all) turns?\b(?! (around|into|out|round))"
)


@dataclass(frozen=True)
class Replaced:
    words: frozenset[str]
    instead: str
    places: tuple[str, ...]
    exceptions: tuple[str, ...]

    def files(self):
        """The sources in which the words are no part of a name."""
        found = [path for place in self.places for path in sources(ROOT / place)]
        return [
            path
            for path in found
            if not any(f"/{e}/" in f"{path.with_suffix('').as_posix()}/" for e in self.exceptions)
        ]


def sources(place):
    file = place.with_suffix(".py")
    return [file] if file.is_file() else sorted(place.rglob("*.py"))


def rows():
    """The rows of the glossary's table of replaced words."""
    section = GLOSSARY.read_text(encoding="utf-8").partition("## Words that were replaced")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| ")
    ]
    return [
        Replaced(
            frozenset(words.split(", ")),
            instead,
            tuple(places.split(", ")),
            tuple(re.sub(r" \(.*?\)", "", exceptions).split(", ")) if exceptions else (),
        )
        for words, instead, places, exceptions in cells[1:]
    ]


def names(path):
    """The names in a file's code, each with its line, and the file's own."""
    with io.BytesIO(path.read_bytes()) as text:
        found = [
            (token.string, token.start[0]) for token in tokenize.tokenize(text.readline) if token.type == tokenize.NAME
        ]
    return [*found, (path.stem, 0)]


def bad(row, path):
    """Where a name of a file has such a word; a file whose text has none is not taken apart."""
    text = path.read_text(encoding="utf-8").lower()
    if not any(word in text or word in path.stem for word in row.words):
        return []
    return [f"{path.relative_to(ROOT)}:{line}: {name}" for name, line in names(path) if row.words & words_of(name)]


def words_of(name):
    return {word.lower() for word in WORD.findall(TERMS.sub("", name))}


def test_the_glossary_lists_what_was_replaced():
    assert rows()
    for row in rows():
        assert row.instead
        assert row.files(), f"{row.places} hold nothing"


@pytest.mark.parametrize("row", rows(), ids=lambda row: ", ".join(sorted(row.words)))
def test_no_name_has_a_word_that_was_replaced(row):
    found = [entry for path in row.files() for entry in bad(row, path)]
    assert not found, f"say {row.instead!r} (compiler/docs/glossary.md):\n" + "\n".join(found)


def test_loops_iterate():
    """In comments, docstrings and messages too."""
    paths = [path for top in ("compiler", "xlabench", "reports") for path in sources(ROOT / top)]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}" for path in paths for match in PROSE.finditer(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_word_that_comes_back_is_found(tmp_path):
    path = tmp_path / "sharing.py"
    path.write_text("def _mostTurns(turns_of): return IN_TURN  # return\n", encoding="utf-8")
    row = Replaced(frozenset({"turn", "turns"}), "iteration", (), ())
    assert [name for name, _ in names(path) if row.words & words_of(name)] == ["_mostTurns", "turns_of", "IN_TURN"]


def test_terms_of_the_field_stay():
    names = {
        "is_update_in_place": False,
        "IN_PLACE": False,
        "real_part_type": False,
        "InPlaced": True,
        "parts_of": True,
    }
    row = Replaced(frozenset({"place", "placed", "part", "parts"}), "storage", (), ())
    assert {name: bool(row.words & words_of(name)) for name in names} == names
