"""What a campaign counts, and how a file keeps it."""

import json

from xlabench.fuzzing.progress import Progress


def test_counts_are_read_as_they_were_written():
    progress = Progress(cases=2, instructions=9, elapsed_s=0.5)
    progress.verdicts.update({"cpu wrong": 1})
    progress.asked.update(abs=4)
    assert Progress.from_json(json.loads(json.dumps(progress.to_json()))) == progress


def test_of_opcodes_that_were_asked_the_share_that_showed_is_told():
    progress = Progress()
    progress.asked.update(abs=3, add=1)
    progress.told.update(abs=1)
    assert progress.telling() == {
        "asked": 4,
        "told": 1,
        "share": 0.25,
        "by_opcode": {"abs": [3, 1], "add": [1, 0]},
    }


def test_what_is_done_is_kept_as_ranges_of_cases():
    progress = Progress()
    for cases in (range(20), range(40, 45), range(20, 40), range(60, 80), range(45, 50)):
        progress.finish(list(cases))
    kept = progress.to_json()
    assert kept["done"] == [[0, 50], [60, 80]]
    assert Progress.from_json(kept).done == progress.done == {0: 20, 1: 20, 2: 10, 3: 20}


def test_of_a_campaign_that_counted_batches_the_last_which_may_be_short_is_run_again():
    kept = Progress().to_json() | {"done": [0, 1, 3]}
    assert Progress.from_json(kept).done == {0: 20, 1: 20}
