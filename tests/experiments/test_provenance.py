import platform

from bygones.experiments import provenance


def test_it_says_what_and_where():
    here = provenance.here("bygones reproduce")
    assert here.command == "bygones reproduce"
    assert here.software["python"] == platform.python_version()
    assert set(provenance.PACKAGES) < set(here.software)
    assert "cores" in here.hardware


def test_the_command_is_this_process_own_by_default(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/bygones", "reproduce", "--out", "my results"])
    assert provenance.here().command == "bygones reproduce --out 'my results'"
