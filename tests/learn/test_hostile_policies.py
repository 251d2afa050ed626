"""A policy's file whose header says something else than what was saved is refused with a sentence that names the file.

The checksum is right: somebody wrote the file like this, or a version of bygones that we do not know.
"""

import json
import os

import pytest

from bygones import memory
from bygones.envs import catalogue, needs
from bygones.envs.problem import FairProblem, problem_of
from bygones.learn import safetensors
from bygones.learn.actors import actor_of
from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings
from fuzz.generator import Case
from fuzz.harness import Harness
from fuzz.hostile import changed
from support.damage import outcome

SETTINGS = Settings(n_agents=4, n_resources=1, horizon=10, hidden=(4,), total_steps=4096)
CAPPED = problem_of(
    n_resources=1, horizon=10, memory=memory.Capped(memory.Discounted(gamma=0.9), cap=5.0), needs=needs.advantaged(4, 1)
)
POLICIES = {
    "paper": (SETTINGS, None),
    "symmetric": (SETTINGS.replace(policy="symmetric"), None),
    "recurrent": (SETTINGS.replace(learner="recurrent-ppo"), None),
    "capped": (SETTINGS, CAPPED),
    "scenario": (SETTINGS, FairProblem(catalogue.parse_scenario("donut"))),
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # thousands of files, of which none has to last
    return tmp_path / "policy.safetensors"


def saved(name, file):
    """Writes a policy; its tensors, and its metadata."""
    settings, problem = POLICIES[name]
    networks = actor_of(settings, problem or settings.problem()).initial(0)
    TrainedPolicy(settings, networks, problem).save(file)
    return safetensors.load(file)


def variants(name, file):
    """Writes the file again and again, each time with one thing in its header changed, and says which."""
    tensors, metadata = saved(name, file)
    for part, text in metadata.items():
        for what, document in changed(json.loads(text)):
            safetensors.save(file, tensors, {**metadata, part: json.dumps(document)})
            yield f"{part}: {what}"
        for broken in ("", "{", "[" * 100_000, "NaN", text[:-1]):
            safetensors.save(file, tensors, {**metadata, part: broken})
            yield f"{part}: {broken[:20]}"


@pytest.mark.parametrize("name", POLICIES)
def test_a_header_that_says_something_else_is_refused(name, file):
    refused = 0
    for what in variants(name, file):
        try:
            _, sentence = outcome(lambda: TrainedPolicy.load(file))
        except Exception as error:
            raise AssertionError(what) from error
        assert sentence is None or str(file) in sentence, what
        refused += sentence is not None
    assert refused > 500


def test_a_header_that_places_tensors_elsewhere_is_refused(file):
    saved("paper", file)
    content = file.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    del header["__metadata__"]["sha256"]
    for what, document in changed(header):
        text = json.dumps(document).encode()
        file.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])
        try:
            _, sentence = outcome(lambda: TrainedPolicy.load(file))
        except Exception as error:
            raise AssertionError(what) from error
        assert sentence is None or str(file) in sentence, what


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", POLICIES)
def test_what_is_not_refused_can_be_played(name, file, tmp_path):
    harness = Harness(tmp_path)
    for what in variants(name, file):
        case = Case(
            ("evaluate", file.name, "--episodes", "1"), {file.name: file.read_bytes().decode(errors="surrogateescape")}
        )
        assert harness.problems(case) == [], what


def test_a_file_makes_nothing_but_memories_and_needs(file):
    tensors, metadata = saved("capped", file)
    problem = json.loads(metadata["problem"])
    for kind in ("__import__", "register", "np", "parse_memory"):
        hostile = json.dumps({**problem, "memory": {"kind": kind, "numbers": {}}})
        safetensors.save(file, tensors, {**metadata, "problem": hostile})
        with pytest.raises(ValueError, match=f"kind must be one of .*, got '{kind}'"):
            TrainedPolicy.load(file)
