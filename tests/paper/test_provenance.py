import importlib.util
import platform

import jax

from bygones.paper import provenance


def test_it_says_what_and_where():
    here = provenance.here("cpu", "bygones reproduce")
    assert here.command == "bygones reproduce"
    assert here.software["python"] == platform.python_version()
    assert set(provenance.PACKAGES) < set(here.software)
    assert here.hardware.endswith("cores")


def test_the_hardware_is_that_of_the_place():
    processor = provenance.hardware("cpu")
    assert provenance.hardware("ray") == f"Ray cluster, driven from {processor}"
    device = jax.devices()[0].device_kind
    assert provenance.hardware("accelerator") == f"{len(jax.devices())} × {device}, beside {processor}"


def test_the_command_is_this_process_own_by_default(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/bygones", "reproduce", "--out", "my results"])
    monkeypatch.setattr("__main__.__spec__", None)
    assert provenance.here("cpu").command == "bygones reproduce --out 'my results'"


def test_a_module_is_named_as_it_is_run(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/run.py", "--scale", "paper"])
    monkeypatch.setattr("__main__.__spec__", importlib.util.find_spec("bygones.paper.run"))
    assert provenance.here("cpu").command == "python -m bygones.paper.run --scale paper"
