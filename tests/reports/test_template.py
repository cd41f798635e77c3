"""A page is the common head and a body, with every field filled in."""

import pytest

from reports.template import fill


def test_a_missing_field_is_no_page():
    with pytest.raises(KeyError):
        fill("page.html")
