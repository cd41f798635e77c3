import itertools
import json

from xlabench.timeline import Timeline


def _ticking():
    ticks = itertools.count(5000, 1000)
    return Timeline(clock=lambda: next(ticks))


def test_spans_are_complete_events_in_microseconds_from_the_first():
    timeline = _ticking()
    with timeline.span("outer", "step"), timeline.span("inner", "kernel"):
        pass
    events = [event for event in json.loads(timeline.to_json())["traceEvents"] if event["ph"] == "X"]
    assert [(e["name"], e["ts"], e["dur"]) for e in events] == [("outer", 0.0, 3.0), ("inner", 1.0, 1.0)]


def test_every_track_has_a_name():
    timeline = _ticking()
    for track in ("host", "thread 0"):
        with timeline.span("work", "step", track=track):
            pass
    events = json.loads(timeline.to_json())["traceEvents"]
    named = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    assert named == {1: "host", 2: "thread 0"}


def test_an_empty_timeline_is_a_file_as_well():
    assert json.loads(Timeline().to_json())["traceEvents"] == []
