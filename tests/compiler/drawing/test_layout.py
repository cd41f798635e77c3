"""Boxes lie inside of those around them, not over others, and values flow downwards."""

import pytest
from drawn_modules import MODULES

from compiler.drawing import graph, layout


@pytest.mark.parametrize("name", MODULES)
def test_boxes_lie_inside_the_one_around_them_and_not_over_others(name):
    def check(box):
        for inner in box.inner:
            assert inner.x >= 0
            assert inner.y >= 0
            assert inner.x + inner.width <= box.width
            assert inner.y + inner.height <= box.height
            check(inner)
        for number, one in enumerate(box.inner):
            for other in box.inner[:number]:
                apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
                assert apart_x or one.y + one.height <= other.y or other.y + other.height <= one.y

    for box in layout.lay_out(graph.graph_of(MODULES[name])):
        check(box)


@pytest.mark.parametrize("name", MODULES)
def test_values_flow_downwards(name):
    drawn = graph.graph_of(MODULES[name])
    places = {}

    def place(box, y):
        places[box.of.key] = (y + box.y, y + box.y + box.height)
        for inner in box.inner:
            place(inner, y + box.y)

    for box in layout.lay_out(drawn):
        place(box, 0.0)
    for edge in drawn.edges:
        if not edge.is_broken:
            assert places[edge.source][1] <= places[edge.target][0]
