"""Lines that become known of cases, one after another and in several processes, are put together."""

import json

from xlabench.fuzzing.case_records import count_ended, nothing_known, records_in


def _left(folder, *lines):
    (folder / "records.jsonl").write_text("\n".join(lines))


def test_of_a_batch_that_left_nothing_nothing_is_known(tmp_path):
    assert records_in(tmp_path) == []


def test_lines_of_one_case_are_one_record_and_seconds_of_a_stage_are_added(tmp_path):
    lines = [
        {"number": 3, "instructions": 5, "seconds": {"judging": 1.0}},
        {"number": 3, "verdicts": {"cpu": ["bitwise"]}, "seconds": {"judging": 2.0, "cpu run": 1.0}},
        {"number": 3, "verdicts": {"xla": ["within"]}},
    ]
    _left(tmp_path, *map(json.dumps, lines))
    (record,) = records_in(tmp_path)
    known = {"number": 3, "instructions": 5, "verdicts": {"cpu": ["bitwise"], "xla": ["within"]}}
    assert record == nothing_known() | known | {"seconds": {"judging": 3.0, "cpu run": 1.0}}


def test_a_line_that_a_process_did_not_finish_is_left_out_and_how_it_ended_counts(tmp_path):
    _left(tmp_path, json.dumps({"number": 1, "instructions": 2}), '{"number": 2, "instr')
    count_ended(tmp_path, 2, {"xla": ["crash", "killed", "compile"]})
    assert [(record["number"], record["instructions"], record["verdicts"]) for record in records_in(tmp_path)] == [
        (1, 2, {}),
        (2, 0, {"xla": ["crash", "killed", "compile"]}),
    ]
