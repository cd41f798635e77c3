"""The description of the machine: useful to a stranger, and silent about whose it is."""

import getpass
import json
import platform
import re
from pathlib import Path

from xlabench import environment


def test_it_describes_the_machine_and_is_json():
    described = json.loads(json.dumps(environment.capture().to_json()))
    assert described["machine"] == platform.machine()
    assert 1 <= described["usable_cores"] <= described["cores"]
    assert described["memory_bytes"] > 2**28
    assert {"LLVM", "llvmlite", "numpy"} <= described["versions"].keys()


def test_it_names_no_person_and_no_place():
    described = json.dumps(environment.capture().to_json())
    for secret in (str(Path.home()), str(Path.cwd()), platform.node(), getpass.getuser()):
        assert not re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", described)


def test_cpu_features_are_read_on_both_architectures():
    x86 = "processor : 0\nmodel name : Some CPU\nflags : fpu avx2 fma hypervisor amx_bf16\n"
    arm = "processor : 0\nFeatures : fp asimd sve2 crc32\n"
    assert environment._cpu_info(x86) == ("Some CPU", ("amx_bf16", "avx2", "fma"))
    assert environment._cpu_info(arm) == (None, ("asimd", "sve2"))
    assert environment._cpu_info("") == (None, ())


def test_a_file_outside_any_repository_has_no_commit(tmp_path):
    assert environment._commit(tmp_path / "file.py") is None
