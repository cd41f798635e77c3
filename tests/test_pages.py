"""What holds pages to their word can fail: other output, lines that are not there, files that are."""

from __future__ import annotations

from pathlib import Path

import pages
import pytest
from pages import Command, Edit

PAGE = """# A page

A new file `a.txt`:

```
one
two
```

In `a.txt`, in place of `one`:

```
1
```

In `a.txt`, below `1`:

```
1.5
```

In `a.txt`, `tw` becomes `t w`.

```console
$ cat a.txt
1
$ false
exit code 1
```
"""


def read(folder: Path) -> list[Edit | Command]:
    page = folder / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    return pages.read(page)


def test_a_page_is_read_in_order(tmp_path: Path) -> None:
    *edits, shown, failing = read(tmp_path)
    assert [edit.where for edit in edits if isinstance(edit, Edit)] == ["", "in place of", "below", "within"]
    assert (shown, failing) == (Command("cat a.txt", "1\n"), Command("false", "exit code 1\n"))


def test_edits_are_made_as_they_are_said(tmp_path: Path) -> None:
    for step in read(tmp_path):
        if isinstance(step, Edit):
            step.make(tmp_path)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "1\n1.5\nt wo\n"


@pytest.mark.parametrize("text", ["", "one\none\n", "someone\n"], ids=["none", "two", "part"])
def test_a_line_must_stand_there_once(text: str) -> None:
    with pytest.raises(AssertionError, match="times"):
        Edit("a.txt", "in place of", "one", "1\n").changed(text)


def test_a_new_file_must_not_be_there(tmp_path: Path) -> None:
    edit = Edit("a.txt", "", "", "")
    edit.make(tmp_path)
    with pytest.raises(AssertionError, match="there already"):
        edit.make(tmp_path)


@pytest.mark.parametrize(
    ("shown", "got", "is_shown"),
    [
        ("one\n", "one\n", True),
        ("one\n", "one\ntwo\n", False),
        ("one\n...\n", "one\ntwo\nthree\n", True),
        ("...\none\n", "one\n", True),
        ("o...e\n", "ombre\n", True),
        ("o...e\n", "one two\n", False),
        ("a b\n", "  a   b\n\n", True),
        ("...\nexit code 1\n", "one\n", False),
    ],
)
def test_what_is_printed_is_what_is_shown(shown: str, got: str, is_shown: bool) -> None:  # noqa: FBT001
    assert pages.is_shown(shown, got) is is_shown
